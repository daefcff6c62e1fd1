import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { type CliInit, runCli, startCli } from '../harness/cli.js';
import { type CliServer, startCliServer } from '../harness/cli-server.js';
import { startHttpTarget } from '../harness/http-target.js';

const question = 'What is 17 * 23?';
type Line = Readonly<Record<string, unknown>>;
const linesOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line); // every line is an object

describe('nightshift run', () => {
  let server: CliServer;
  let env: CliServer['env'];

  beforeAll(async () => {
    server = await startCliServer();
    ({ env } = server);
  });

  afterAll(() => server.close());

  const nightshift = (words: readonly string[], init: CliInit = {}) => runCli(words, { env, ...init });

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
    const run = startCli(['run', question, '--tools', 'calculate', '--ask', '--wait'], { env });
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
    const extensions = { code: 'RATE_LIMITED', reason: 'rate_limited', retryAfterSeconds: 30 };
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
    const run = startCli(['run', question, '--tools', 'calculate', '--ask', '--wait', '--cancel-on-exit'], { env });
    await run.waitForOutput('job ');
    run.kill('SIGINT');
    const { code, stderr } = await run.exited;
    expect(code).toBe(130);
    expect(stderr).toMatch(/\ncancelled/);
  });

  it('exits with 1 when another user stops the job', async () => {
    const { jobId } = await waitingJob();
    const attached = startCli(['attach', jobId, '--wait'], { env });
    const logs = startCli(['logs', jobId, '--follow', '--json'], { env });
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
