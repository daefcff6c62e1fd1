import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { runCli, startCli } from '../harness/cli.js';
import { type CliServer, startCliServer } from '../harness/cli-server.js';
import { eventually } from '../harness/eventually.js';

interface Line {
  readonly id: string;
  readonly type: string;
  readonly jobId: string;
  readonly interruptId: string | null;
  readonly read: boolean;
}

const linesOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line); // every line is a notification

describe('nightshift notifications', () => {
  let server: CliServer;
  let env: CliServer['env'];

  beforeAll(async () => {
    server = await startCliServer();
    ({ env } = server);
  });

  afterAll(() => server.close());

  const nightshift = (...words: string[]) => runCli(words, { env });
  const unread = async () => linesOf((await nightshift('notifications', '--unread', '--json')).stdout);
  /** Starts a job without viewers; gives its notification. */
  async function miss(...words: string[]): Promise<Line> {
    const { stdout } = await nightshift('run', ...words, '--detach');
    return eventually('the notification is there', async () =>
      (await unread()).find(({ jobId }) => jobId === stdout.trim()),
    );
  }

  it('lists unread notifications with the next command, and marks them as read', async () => {
    expect(await nightshift('notifications')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^No notifications\./),
    });
    const done = await miss('What is 2 ^ 10?', '--tools', 'calculate');
    const asks = await miss('What is 17 * 23?', '--tools', 'calculate', '--ask');
    expect([done.type, asks.type]).toEqual(['JOB_COMPLETED', 'INPUT_NEEDED']);
    const { code, stdout } = await nightshift('notifications');
    expect(code).toBe(0);
    const [first, second, third, fourth] = stdout.split('\n');
    expect(first).toMatch(new RegExp(`^● needs you Run calculate · .* · ${asks.id}$`));
    expect(second).toBe(`    $ npx nightshift approve ${asks.interruptId ?? ''}`);
    expect(third).toMatch(new RegExp(`^● completed What is 2 \\^ 10\\? · .* · ${done.id}$`));
    expect(fourth).toBe(`    $ npx nightshift attach ${done.jobId}`);
    expect(
      (await nightshift('notifications', '--type', 'input_needed', '--limit', '5')).stdout.split('\n'),
    ).toHaveLength(3);

    expect(await nightshift('notifications', 'read', done.id)).toMatchObject({
      ...{ code: 0, stdout: expect.stringMatching(/^read: completed What is 2 \^ 10\? · /) },
    });
    expect((await unread()).map(({ id }) => id)).toEqual([asks.id]);
    expect((await nightshift('notifications')).stdout).toMatch(/^● needs you [^]*\n {2}completed /);
    expect(await nightshift('notifications', 'read', '--all', '--json')).toMatchObject({ stdout: '{"marked":1}\n' });
    expect(await nightshift('notifications', '--unread')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'No unread notifications.\n',
    });
  });

  it.each([
    [['notifications', 'read'], 2],
    [['notifications', 'read', 'x', '--all'], 2],
    [['notifications', 'read', '01a20000-0000-7000-8000-000000000000'], 4],
    [['notifications', '--type', 'odd'], 2],
    [['notifications', '--follow', '--token', 'nsk_wrong'], 3],
  ])('%j exits with %i', async (words, code) => {
    expect(await nightshift(...words)).toMatchObject({ code, stdout: '' });
  });

  it('prints each new notification once with --follow, and with --json also read ones, until Ctrl-C', async () => {
    const before = await miss('What is 1 + 1?', '--tools', 'calculate');
    const people = startCli(['notifications', '--follow'], { env });
    const program = startCli(['notifications', '--follow', '--json'], { env });
    for (const one of [people, program]) await one.waitForOutput(before.id);
    const after = await miss('What is 2 + 2?', '--tools', 'calculate');
    for (const one of [people, program]) await one.waitForOutput(after.id);
    await nightshift('notifications', 'read', before.id);
    await program.waitForOutput(/"read":true/);
    people.kill('SIGINT');
    program.kill('SIGINT');
    expect(await people.exited).toMatchObject({ code: 130, stderr: '' });
    expect(people.stdout().match(/●/g)).toHaveLength(2);
    expect(await program.exited).toMatchObject({ code: 130, stderr: '' });
    expect(linesOf(program.stdout()).map(({ id, read }) => [id, read])).toEqual([
      [before.id, false],
      [after.id, false],
      [before.id, true],
    ]);
  });
});
