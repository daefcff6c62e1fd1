import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { runCli, startInTerminal } from '../harness/cli.js';
import { type CliServer, startCliServer } from '../harness/cli-server.js';

const keys = { down: '\u001b[B', up: '\u001b[A', enter: '\r', interrupt: '\u0003' };
const asking = ['run', 'What is 17 * 23?', '--tools', 'calculate', '--ask'];

describe('nightshift run on a terminal', () => {
  let server: CliServer;
  let env: CliServer['env'];

  beforeAll(async () => {
    server = await startCliServer();
    ({ env } = server);
  });

  afterAll(() => server.close());

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
