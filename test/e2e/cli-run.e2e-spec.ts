import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { type CliInit, runCli, startCli, startInTerminal } from '../harness/cli.js';
import type { CliServer } from '../harness/cli-server.js';
import { startHttpTarget } from '../harness/http-target.js';
import { startTestCliServer } from '../harness/test-cli-server.js';

const question = 'What is 17 * 23?';
const enter = '\r';

let server: CliServer;

beforeAll(async () => {
  server = await startTestCliServer();
});

afterAll(() => server.close());

async function graphql(query: string, { NIGHTSHIFT_KEY: key = '' } = server.env): Promise<unknown> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ query });
  return (await fetch(`${server.url}/graphql`, { method: 'POST', headers, body })).json();
}

/** The environment for a new workspace of the server: nothing waits there for a decision. */
async function newWorkspace(): Promise<CliServer['env']> {
  const { data } = (await graphql('mutation { createWorkspace(input: { name: "Fresh" }) { secret } }')) as {
    data: { createWorkspace: { secret: string } };
  }; // the query selects this field
  return { ...server.env, NIGHTSHIFT_KEY: data.createWorkspace.secret };
}

/** The output of --json: every line is an object. */
const linesOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);

describe('nightshift run', () => {
  const nightshift = (words: readonly string[], init: CliInit = {}) => runCli(words, { env: server.env, ...init });

  /** Starts a job that waits for the approval of a tool call, and gives its id. */
  const waitingJob = async () => {
    const { code, stdout } = await nightshift(['run', question, '--tools', 'calculate', '--ask', '--json']);
    expect(code).toBe(6);
    return linesOf(stdout).at(-1) as { jobId: string; requests: string[]; status: string; after: number }; // the result
  };

  it('writes the answer to standard output, and everything about the work to standard error', async () => {
    const run = await nightshift(['run', question, '--tools', 'calculate']);
    expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining('391') });
    expect(run.stderr).toMatch(/^job [\w-]+ · thread [\w-]+\n {2}✓ calculate\(expression: "17 \* 23"\) → 391.*\n/);
    expect(run.stderr).toMatch(/\ncompleted · 2 rounds · 1 tool call · \d+ tokens \(\d+ in, \d+ out\) · .*s\n$/);
    expect(run.stdout + run.stderr).not.toContain('\u001b');
  });

  it('labels the job with each --label, whose value may contain "="', async () => {
    const flags = ['--label', 'team=billing', '--label', 'query=a=b', '--label', 'empty='];
    const { stdout } = await nightshift(['run', question, '--detach', ...flags]);
    const response = await fetch(`${server.url}/api/jobs/${stdout.trim()}/status`, {
      headers: { authorization: `Bearer ${server.key}` },
    });
    expect(await response.json()).toMatchObject({ labels: { team: 'billing', query: 'a=b', empty: '' } });
  });

  it.each([
    [['team'], '--label must be key=value, not "team".'],
    [['=billing'], '--label must be key=value, not "=billing".'],
    [['team=a', 'team=b'], '--label sets "team" twice.'],
    [[`${'k'.repeat(65)}=x`], 'labels must have keys of 1 to 64 characters'],
  ])('refuses --label %j and starts nothing', async (labels, message) => {
    const run = await nightshift(['run', question, ...labels.flatMap((label) => ['--label', label])]);
    expect(run).toMatchObject({ stdout: '', stderr: expect.stringContaining(message) });
    expect(run.code).not.toBe(0);
  });

  it('prints every event as a line of JSON, and the result at the end', async () => {
    const { code, stdout, stderr } = await nightshift(['run', question, '--tools', 'calculate', '--json']);
    const lines = linesOf(stdout);
    const events = lines.slice(0, -1);
    expect(code).toBe(0);
    expect(stderr).toBe('');
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
    expect(events[0]).toMatchObject({ event: 'job-queued' });
    expect(events.at(-1)).toMatchObject({ event: 'job-finished', status: 'COMPLETED' });
    expect(lines.at(-1)).toMatchObject({
      ...{ event: 'result', status: 'COMPLETED', exitCode: 0, requests: [] },
      text: expect.stringContaining('391'),
    });
  });

  it('adds standard input to the prompt and continues a thread', async () => {
    const first = await nightshift(['run', '--json'], { input: 'My name is Ann.\n' });
    const { threadId } = linesOf(first.stdout).at(-1) ?? {};
    const next = await nightshift(['run', 'Again:', '--file', '-', '--thread', String(threadId), '--json'], {
      input: 'who am I?',
    });
    expect(linesOf(next.stdout).at(-1)).toMatchObject({ threadId, text: expect.stringContaining('Again:') });
  });

  it('attaches files to the prompt', async () => {
    const [invoice, notes] = ['invoice.txt', 'notes.md'].map((name) => join(server.folder, name));
    writeFileSync(invoice ?? '', 'Total due: 42 EUR');
    writeFileSync(notes ?? '', '# Paid');
    const attached = ['--attach', invoice ?? '', '--attach', notes ?? ''];
    const { code, stdout } = await nightshift(['run', 'What is due?', ...attached]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/Total due: 42 EUR[^]*# Paid/) });
    expect(await nightshift(['run', 'What is due?', '--attach', server.folder])).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining('is not a file.') },
    });
    expect(await nightshift(['run', 'What is due?', '--attach', join(server.folder, 'absent')])).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining('cannot be read') },
    });
  });

  it('exits when the job waits for a person, prints the command to answer, and attaches again', async () => {
    const asked = await nightshift(['run', question, '--tools', 'calculate', '--ask']);
    expect(asked).toMatchObject({ code: 6, stdout: '' });
    const [, requestId = ''] = /nightshift approve (\S+) --yes/.exec(asked.stderr) ?? [];
    const [, jobId = '', after = ''] = /nightshift attach (\S+) --after (\d+)/.exec(asked.stderr) ?? [];
    expect(asked.stderr).toContain('expression: "17 * 23"');

    const inbox = await nightshift(['approve', '--json']);
    expect(inbox.code).toBe(6);
    expect(linesOf(inbox.stdout).map(({ id }) => id)).toContain(requestId);

    expect(await nightshift(['approve', requestId, '--yes'])).toMatchObject({
      code: 0,
      stdout: 'approved: Run calculate\n',
    });
    expect(await nightshift(['attach', jobId, '--after', after])).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining('391') },
    });
    expect(await nightshift(['attach', jobId])).toMatchObject({ code: 0, stdout: expect.stringContaining('391') });
  });

  it('keeps the job running after Ctrl-C', async () => {
    const run = startCli(['run', question, '--tools', 'calculate', '--ask', '--wait'], { env: server.env });
    await run.waitForOutput('job ');
    run.kill('SIGINT');
    const { code, stderr } = await run.exited;
    const [, jobId = ''] = /nightshift attach (\S+)/.exec(stderr) ?? [];
    expect(code).toBe(130);
    expect(stderr).toContain('The job keeps running.');
    const jobs = await nightshift(['jobs', '--status', 'queued,running,waiting', '--json']);
    expect(linesOf(jobs.stdout).map(({ id }) => id)).toContain(jobId);
  });

  it('prints one line while the server limits the rate of requests', async () => {
    const extensions = { code: 'RATE_LIMITED', reason: 'rate_limited', retryable: true, retryAfterSeconds: 30 };
    const errors = [{ message: 'Too many starts.', extensions }];
    const limited = await startHttpTarget((_request, response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ errors }));
    });
    const run = startCli(['run', question], { env: { NIGHTSHIFT_URL: limited.url, NIGHTSHIFT_KEY: 'x' } });
    await run.waitForOutput('Too many starts. Retrying in 30');
    run.kill('SIGKILL');
    await run.exited;
    await limited.close();
  });

  it('prints commands that repeat the flags it was given', async () => {
    const words = ['--url', server.url, '--data-dir', join(server.folder, 'data')];
    const { stderr } = await runCli([...words, 'run', question, '--tools', 'calculate', '--ask']);
    const [, printed = ''] = /Follow it again: npx nightshift (.*)/.exec(stderr) ?? [];
    expect(printed).toContain(`--url ${server.url} --data-dir ${join(server.folder, 'data')} attach `);
    expect((await runCli(printed.split(' '))).code).toBe(6);
  });

  it('stops the job with --cancel-on-exit', async () => {
    const run = startCli(['run', question, '--tools', 'calculate', '--ask', '--wait', '--cancel-on-exit'], {
      env: server.env,
    });
    await run.waitForOutput('job ');
    run.kill('SIGINT');
    const { code, stderr } = await run.exited;
    expect(code).toBe(130);
    expect(stderr).toMatch(/\ncancelled/);
  });

  it('exits with 1 when another user stops the job', async () => {
    const { jobId } = await waitingJob();
    const attached = startCli(['attach', jobId, '--wait'], { env: server.env });
    const logs = startCli(['logs', jobId, '--follow', '--json'], { env: server.env });
    await logs.waitForOutput('job-waiting');
    expect(await nightshift(['cancel', jobId])).toMatchObject({ code: 0, stdout: 'The job is cancelled.\n' });
    expect(await attached.exited).toMatchObject({ code: 1, stderr: expect.stringMatching(/^cancelled/m) });
    expect(await logs.exited).toMatchObject({ code: 1 });
    expect(linesOf(logs.stdout()).at(-1)).toMatchObject({ event: 'job-finished', status: 'CANCELLED' });
    expect(await nightshift(['cancel', jobId])).toMatchObject({ code: 0, stdout: 'The job is cancelled.\n' });
  });

  it('prints the log after any event number', async () => {
    const { jobId, after } = await waitingJob();
    const all = linesOf((await nightshift(['logs', jobId, '--json'])).stdout);
    const rest = linesOf((await nightshift(['logs', jobId, '--after', '2', '--json'])).stdout);
    expect(all.at(-1)).toMatchObject({ seq: after, event: 'job-waiting' });
    expect(rest).toEqual(all.slice(2));
    expect((await nightshift(['logs', jobId])).stdout).toMatch(/ 1 {2}\d\d:\d\d:\d\d\.\d{3} {2}job-queued\n/);
    await nightshift(['cancel', jobId]);
  });

  it('exits after the start with --detach', async () => {
    const { code, stdout } = await nightshift(['run', question, '--detach']);
    expect(code).toBe(0);
    expect(await nightshift(['logs', stdout.trim(), '--follow'])).toMatchObject({ code: 0 });
  });
});

describe('request of a sub-job:', () => {
  const asking = ['run', 'use tool workflow.asks {"input": "Hello"}', '--tools', 'workflow.asks'];

  /** A workflow that asks a person, and nothing else. */
  const asks = {
    meta: { version: '2.0.0', name: 'Asks', id: 'asks' },
    nodes: [
      { id: 'start', type: 'start', position: { x: 0, y: 0 }, data: { label: 'Start' } },
      { id: 'sure', type: 'approval', position: { x: 0, y: 0 }, data: { label: 'Sure', prompt: 'Is it so?' } },
    ],
    edges: [{ id: 'e', source: 'start', target: 'sure' }],
  };

  let env: CliServer['env'];

  beforeAll(async () => {
    env = await newWorkspace();
    const file = join(server.folder, 'asks.json');
    writeFileSync(file, JSON.stringify(asks));
    expect(await runCli(['workflows', 'push', file], { env })).toMatchObject({ code: 0 });
    expect((await runCli(['workflows', 'list'], { env })).stdout).toMatch(/^WORKFLOW +SLUG .*\nasks +asks +version 1 /);
    const query = `mutation { offerWorkflowAsTool(input: { id: "asks", offered: true }) { workflow { slug } userErrors { code } } }`;
    const offer = { workflow: { slug: 'asks' }, userErrors: [] };
    expect(await graphql(query, env)).toEqual({ data: { offerWorkflowAsTool: offer } });
  });

  it('`nightshift run` asks at the terminal and names the workflow', async () => {
    const run = startInTerminal(asking, { env });
    await run.waitForOutput(/requested by workflow\.asks \(sub-job [\w-]+\)/);
    await run.waitForOutput('Your answer?');
    run.type(enter);
    expect(await run.exited).toMatchObject({ code: 0, stdout: expect.stringContaining('completed') });
  });

  it('`nightshift run` exits with 6 without a terminal, names the workflow, and `nightshift attach` continues it', async () => {
    const left = await runCli(asking, { env });
    expect(left).toMatchObject({ code: 6, stderr: expect.stringContaining('requested by workflow.asks (sub-job ') });
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

  it('`nightshift run --json` prints the request as a line of JSON, and `nightshift attach --wait` stays', async () => {
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

  it('`nightshift tools call` exits with 6 when a sub-job waits for a decision, and prints the approve and attach commands', async () => {
    const make = `mutation { createAgent(input: { name: "Caller", tools: ["workflow.*"] }) { userErrors { code } } }`;
    expect(await graphql(make, env)).toEqual({ data: { createAgent: { userErrors: [] } } });
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

describe('nightshift run on a terminal', () => {
  const keys = { down: '\u001b[B', up: '\u001b[A', enter, interrupt: '\u0003' };

  const asking = ['run', question, '--tools', 'calculate', '--ask'];

  let env: CliServer['env'];

  beforeAll(async () => {
    env = await newWorkspace();
  });

  it('asks for an approval and continues', async () => {
    const run = startInTerminal(asking, { env });
    await run.waitForOutput('Run it?');
    await run.waitForOutput('expression: "17 * 23"');
    run.type(keys.enter);
    expect(await run.exited).toMatchObject({ code: 0 });
    expect(run.stdout()).toContain('391');
    expect(run.stdout()).toContain('\u001b[32mcompleted\u001b[39m');
  });

  it('denies with a reason', async () => {
    const run = startInTerminal(asking, { env });
    await run.waitForOutput('Run it?');
    run.type(keys.down + keys.down + keys.enter);
    await run.waitForOutput('Why?');
    run.type(`too dear${keys.enter}`);
    expect(await run.exited).toMatchObject({ code: 0, stdout: expect.stringContaining('rejected by user: too dear') });
  });

  it('edits the arguments in an editor or in a line', async () => {
    const inEditor = startInTerminal(asking, { env: { ...env, EDITOR: "sed -i 's/23/3/'" } });
    await inEditor.waitForOutput('Run it?');
    inEditor.type(keys.down + keys.enter);
    expect(await inEditor.exited).toMatchObject({ code: 0, stdout: expect.stringContaining('51') });

    const inLine = startInTerminal(asking, { env });
    await inLine.waitForOutput('Run it?');
    inLine.type(keys.down + keys.enter);
    await inLine.waitForOutput('{"expression":"17 * 23"}');
    inLine.type('\u007f'.repeat(4) + `2"}${keys.enter}`);
    expect(await inLine.exited).toMatchObject({ code: 0, stdout: expect.stringContaining('34') });
  });

  it('postpones a question, which nightshift inbox asks again', async () => {
    const run = startInTerminal(asking, { env });
    await run.waitForOutput('Run it?');
    run.type(keys.up + keys.enter);
    expect(await run.exited).toMatchObject({ code: 6, stdout: expect.stringContaining('nightshift attach') });

    const inbox = startInTerminal(['approve'], { env });
    await inbox.waitForOutput('Run it?');
    inbox.type(keys.enter);
    expect(await inbox.exited).toMatchObject({ code: 0, stdout: expect.stringContaining('approved: Run calculate') });
  });

  it('withdraws a question that another user has answered', async () => {
    const run = startInTerminal(asking, { env });
    await run.waitForOutput('Run it?');
    const [, jobId = ''] = /job ([\w-]+)/.exec(run.stdout()) ?? [];
    const listed = await runCli(['approve', '--job', jobId, '--json'], { env });
    const { id } = JSON.parse(listed.stdout) as { id: string };
    await runCli(['approve', id, '--yes'], { env });
    expect(await run.exited).toMatchObject({ code: 0, stdout: expect.stringContaining('391') });
  });

  it('asks the question of ask_person', async () => {
    const run = startInTerminal(['run', 'use tool ask_person {"question": "Which size?"}', '-t', 'ask_person'], {
      env,
    });
    await run.waitForOutput('Your answer?');
    run.type(keys.enter);
    await run.waitForOutput(/Your answer\?[^]*Answer[^]*Answer\r?\n/);
    run.type(`XXL${keys.enter}`);
    expect(await run.exited).toMatchObject({ code: 0, stdout: expect.stringContaining('ask_person says: XXL') });
  });

  it('exits on Ctrl-C at a question, and the job keeps running', async () => {
    const run = startInTerminal(asking, { env });
    await run.waitForOutput('Run it?');
    run.type(keys.interrupt);
    expect(await run.exited).toMatchObject({ code: 130, stdout: expect.stringContaining('The job keeps running') });
  });

  it('prints no colors with NO_COLOR and no question with --no-input', async () => {
    const plain = startInTerminal([...asking, '--no-input'], { env: { ...env, NO_COLOR: '1' } });
    expect(await plain.exited).toMatchObject({ code: 6 });
    expect(plain.stdout()).not.toMatch(/\u001b\[\d+m/);
  });
});
