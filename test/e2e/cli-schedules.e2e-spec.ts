import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { runCli } from '../harness/cli.js';
import { type CliServer, startCliServer } from '../harness/cli-server.js';

describe('nightshift schedules', () => {
  let server: CliServer;

  beforeAll(async () => {
    server = await startCliServer();
    await runCli(['workflows', 'push', 'examples/workspace/workflows/shorten.json'], { env: server.env });
    const save = `mutation ($chat: SaveChatScheduleInput!, $next: SaveChatScheduleInput!, $workflow: SaveWorkflowScheduleInput!) {
      workflow: saveWorkflowSchedule(input: $workflow) { userErrors { message } }
      chat: saveChatSchedule(input: $chat) { userErrors { message } }
      next: saveChatSchedule(input: $next) { userErrors { message } } }`;
    const chat = { name: 'greeting', cron: '0 7 * * *', message: 'Good morning' };
    const variables = {
      ...{ chat, next: { ...chat, name: 'farewell' } },
      workflow: { name: 'report', cron: '30 6 * * 1', timeZone: 'Europe/Berlin', workflowId: WORKFLOW, prompt: 'Go' },
    };
    const none = { userErrors: [] };
    expect(await ask(save, variables)).toEqual({ data: { workflow: none, chat: none, next: none } });
  });
  afterAll(() => server.close());

  type Row = Readonly<Record<string, unknown>>;

  const WORKFLOW = 'shorten';
  const ask = async (query: string, variables: object): Promise<unknown> => {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${server.key}` },
      body: JSON.stringify({ query, variables }),
    });
    return response.json();
  };
  const nightshift = (...words: string[]) => runCli(['schedules', ...words], { env: server.env });
  const linesOf = async (...words: string[]) => {
    const { stdout } = await nightshift(...words, '--json');
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Row);
  };
  const namesOf = async (...words: string[]) => (await linesOf('list', ...words)).map(({ name }) => name);

  it('lists chats and workflows, newest first, at most --limit', async () => {
    expect(await namesOf()).toEqual(['farewell', 'greeting', 'report']);
    expect(await namesOf('--limit', '2')).toEqual(['farewell', 'greeting']);
    expect(await namesOf('--kind', 'workflow')).toEqual(['report']);
    expect((await nightshift('list')).stdout).toMatch(
      /report +workflow +enabled +30 6 \* \* 1 Europe\/Berlin +20\d\d-/,
    );
  });

  it('shows a schedule by its name and by its id, with its slots', async () => {
    const [report] = await linesOf('show', 'report');
    expect(report).toMatchObject({ kind: 'WORKFLOW', prompt: 'Go', slots: [], nextSlots: { length: 5 } });
    expect(await linesOf('show', String(report?.['id']))).toEqual([report]);
    expect(JSON.parse((await nightshift('show', 'greeting')).stdout)).toMatchObject({ kind: 'CHAT', name: 'greeting' });
  });

  it.each(['report', 'greeting'])('disables, enables and removes %s', async (name) => {
    expect((await nightshift('disable', name)).stdout).toBe(`disabled ${name}\n`);
    expect(await linesOf('show', name)).toMatchObject([{ enabled: false, nextSlots: [] }]);
    expect((await nightshift('enable', name)).stdout).toBe(`enabled ${name}\n`);
    expect(await linesOf('show', name)).toMatchObject([{ enabled: true }]);
    expect((await nightshift('remove', name)).stdout).toBe(`removed ${name}\n`);
    expect(await namesOf()).not.toContain(name);
  });

  it('exits with 4 for an unknown schedule', async () => {
    for (const verb of ['show', 'enable', 'disable', 'remove'])
      expect(await nightshift(verb, 'absent')).toMatchObject({
        ...{ code: 4, stdout: '', stderr: expect.stringContaining('Schedule absent does not exist') },
      });
  });
});
