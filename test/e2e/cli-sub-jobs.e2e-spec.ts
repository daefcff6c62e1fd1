import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { runCli, startCli, startInTerminal } from '../harness/cli.js';
import { type CliServer, startCliServer } from '../harness/cli-server.js';

const asking = ['run', 'use tool workflow.asks {"input": "Hello"}', '--tools', 'workflow.asks'];
const enter = '\r';
type Line = Readonly<Record<string, unknown>>;
const linesOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line); // every line is an object

/** A workflow that asks a person, and nothing else. */
const asks = {
  meta: { version: '2.0.0', name: 'Asks', id: 'asks' },
  nodes: [
    { id: 'start', type: 'start', position: { x: 0, y: 0 }, data: { label: 'Start' } },
    { id: 'sure', type: 'approval', position: { x: 0, y: 0 }, data: { label: 'Sure', prompt: 'Is it so?' } },
  ],
  edges: [{ id: 'e', source: 'start', target: 'sure' }],
};

describe('nightshift run with a question of a sub-job', () => {
  let server: CliServer;
  let env: CliServer['env'];

  beforeAll(async () => {
    server = await startCliServer();
    ({ env } = server);
    const file = join(server.folder, 'asks.json');
    writeFileSync(file, JSON.stringify(asks));
    expect(await runCli(['workflows', 'push', file], { env })).toMatchObject({ code: 0 });
    expect((await runCli(['workflows', 'list'], { env })).stdout).toMatch(/^WORKFLOW +SLUG .*\nasks +asks +version 1 /);
    const query = `mutation { offerWorkflowAsTool(input: { id: "asks", offered: true }) { workflow { slug } userErrors { code } } }`;
    const offer = { workflow: { slug: 'asks' }, userErrors: [] };
    expect(await graphql(query)).toEqual({ data: { offerWorkflowAsTool: offer } });
  });

  async function graphql(query: string): Promise<unknown> {
    const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ query });
    return (await fetch(`${server.url}/graphql`, { method: 'POST', headers, body })).json();
  }

  afterAll(() => server.close());

  it('asks at the terminal and names the workflow', async () => {
    const run = startInTerminal(asking, { env });
    await run.waitForOutput(/asked by workflow\.asks \(sub-job [\w-]+\)/);
    await run.waitForOutput('Your answer?');
    run.type(enter);
    expect(await run.exited).toMatchObject({ code: 0, stdout: expect.stringContaining('completed') });
  });

  it('exits with 6 without a terminal, names the workflow, and attaches again', async () => {
    const left = await runCli(asking, { env });
    expect(left).toMatchObject({ code: 6, stderr: expect.stringContaining('asked by workflow.asks (sub-job ') });
    const [, request = ''] = /nightshift approve (\S+) --action approve/.exec(left.stderr) ?? [];
    const [, jobId = '', after = ''] = /nightshift attach (\S+) --after (\d+)/.exec(left.stderr) ?? [];
    for (const place of [['--after', after], []])
      expect(await runCli(['attach', jobId, ...place], { env })).toMatchObject({
        ...{ code: 6, stderr: expect.stringContaining(`nightshift approve ${request} `) },
      });
    const asked = await runCli(['approve', '--job', jobId, '--json'], { env });
    expect([asked.code, linesOf(asked.stdout)]).toMatchObject([6, [{ id: request, rootJobId: jobId }]]);
    const answer = startInTerminal(['approve', '--job', jobId], { env });
    await answer.waitForOutput('Your answer?');
    answer.type(enter);
    expect(await answer.exited).toMatchObject({ code: 0 });
    expect(await runCli(['attach', jobId], { env })).toMatchObject({ code: 0 });
  });

  it('prints the request as a line of JSON and stays with --wait', async () => {
    const left = await runCli([...asking, '--json'], { env });
    expect(left).toMatchObject({ code: 6, stderr: '' });
    const lines = linesOf(left.stdout);
    const { jobId, requests } = lines.at(-1) as { jobId: string; requests: readonly string[] }; // the result
    const asked = lines.filter(({ event }) => event === 'sub-job-request');
    expect(asked).toMatchObject([
      { id: requests[0], asker: 'workflow.asks', rootJobId: jobId, kind: 'HUMAN_INPUT', status: 'OPEN' },
    ]);
    expect(asked[0]?.['jobId']).not.toBe(jobId);
    expect(requests).toHaveLength(1);

    const stays = startCli(['attach', jobId, '--wait', '--json'], { env });
    await stays.waitForOutput('"sub-job-request"');
    expect(await runCli(['approve', requests[0] ?? '', '--yes'], { env })).toMatchObject({ code: 0 });
    expect(await stays.exited).toMatchObject({ code: 0 });
    expect(linesOf(stays.stdout()).at(-1)).toMatchObject({ event: 'result', status: 'COMPLETED', requests: [] });
  });

  it('exits with 6 from a direct tool call, names the approvers, and attaches again', async () => {
    const make = `mutation { createAgent(input: { name: "Caller", tools: ["workflow.*"] }) { userErrors { code } } }`;
    expect(await graphql(make)).toEqual({ data: { createAgent: { userErrors: [] } } });
    const call = ['tools', 'call', 'workflow.asks', '{"input": "Hello"}', '--agent', 'caller'];
    const { code, stderr } = await runCli(call, { env });
    expect(code).toBe(6);
    const [, request = '', job = ''] =
      /waits for a decision[^]*\n {4}\$ npx nightshift approve (\S+)\n {4}\$ npx nightshift attach (\S+)\n/.exec(
        stderr,
      ) ?? [];
    expect(await runCli(['approve', request, '--yes'], { env })).toMatchObject({ code: 0 });
    expect(await runCli(['attach', job], { env })).toMatchObject({ code: 0 });
  });
});
