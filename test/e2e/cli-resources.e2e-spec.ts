import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { runCli, startCli } from '../harness/cli.js';
import type { CliServer } from '../harness/cli-server.js';
import { eventually } from '../harness/eventually.js';
import { startTestCliServer } from '../harness/test-cli-server.js';
import { WebhookReceiver } from '../harness/webhook-receiver.js';

let receiver: WebhookReceiver;
let server: CliServer;

beforeAll(async () => {
  receiver = await WebhookReceiver.listen();
  server = await startTestCliServer(receiver.env);
});
afterAll(async () => {
  await server.close();
  await receiver.close();
});

type Row = Readonly<Record<string, unknown>>;

const ask = async (query: string, variables: object): Promise<unknown> => {
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${server.key}` },
    body: JSON.stringify({ query, variables }),
  });
  return response.json();
};
const rowsIn = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);

describe('nightshift schedules', () => {
  beforeAll(async () => {
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

  const WORKFLOW = 'shorten';
  const nightshift = (...words: string[]) => runCli(['schedules', ...words], { env: server.env });
  const linesOf = async (...words: string[]) => rowsIn((await nightshift(...words, '--json')).stdout);
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

describe('nightshift triggers', () => {
  beforeAll(async () => {
    for (const definition of definitions) await save(definition);
  });

  const hook = {
    ...{ triggerId: 'new-issue', source: 'webhook', condition: "action == 'opened'", timeout: '7s' },
    retryPolicy: { maxAttempts: 4, initialBackoff: '1.5s', maxBackoff: '1m' },
    start: { kind: 'chat', prompt: "'Triage ' + title", delay: '5m' },
  };
  const change = { triggerId: 'on-order', collection: 'orders/*', events: ['update'], start: {} };
  const definitions = [hook, change, { ...change, database: 'shop' }, { ...change, triggerId: 'last' }];

  const save = async (definition: object) => {
    const query = `mutation ($definition: JSON!) { saveTrigger(input: { definition: $definition }) { userErrors { message } } }`;
    expect(await ask(query, { definition })).toEqual({ data: { saveTrigger: { userErrors: [] } } });
  };
  const nightshift = (...words: string[]) => runCli(['triggers', ...words], { env: server.env });
  const linesOf = async (...words: string[]) => rowsIn((await nightshift(...words, '--json')).stdout);
  const shown = async (name: string) => (await linesOf('show', name))[0] as Row;

  it('lists the newest, at most --limit, and those of one database', async () => {
    expect(await linesOf('list')).toHaveLength(4);
    expect(await linesOf('list', '--limit', '2')).toMatchObject([
      { definition: { triggerId: 'last' } },
      { definition: { triggerId: 'on-order', database: 'shop' } },
    ]);
    expect(await linesOf('list', '--database', 'shop')).toHaveLength(1);
    expect((await nightshift('list')).stdout).toMatch(/default\/new-issue +enabled +chat +0 +0/);
  });

  it('shows a trigger by its id, its triggerId, and its database and triggerId', async () => {
    const { id } = await shown('new-issue');
    for (const name of [String(id), 'default/new-issue'])
      expect(await shown(name)).toMatchObject({ id, definition: { triggerId: 'new-issue' }, runs: [] });
    expect(JSON.parse((await nightshift('show', 'new-issue')).stdout)).toMatchObject({ id });
  });

  it('exits with 4 for an unknown trigger, and with 2 for a triggerId of several databases', async () => {
    for (const verb of ['show', 'test', 'enable', 'disable', 'delete'])
      expect(await nightshift(verb, 'absent')).toMatchObject({
        ...{ code: 4, stdout: '', stderr: expect.stringContaining('Trigger absent does not exist') },
      });
    const { code, stderr } = await nightshift('delete', 'on-order');
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('shop/on-order, default/on-order'),
    });
  });

  it('tests a webhook and a change: whether it fires, and with what', async () => {
    const { stdout } = await nightshift('test', 'new-issue', '--document', '{"action":"opened","title":"It breaks"}');
    expect(stdout).toMatch(/^fires\n[^]*"prompt": "Triage It breaks"/);
    expect((await nightshift('test', 'new-issue', '--document', '{"action":"closed"}')).stdout).toBe(
      'does not fire: a condition is false\n',
    );
    expect((await nightshift('test', 'new-issue', '--document', '{}')).stdout).toMatch(/^does not fire: .*action/);
    const order = ['test', 'shop/on-order', '--collection', 'orders/7', '--document', '{"sum":3}'];
    expect(await linesOf(...order)).toMatchObject([
      { fires: true, input: { prompt: expect.stringContaining('"sum"') } },
    ]);
    expect((await nightshift(...order, '--event', 'create')).stdout).toBe(
      'does not fire: its events or its collection exclude this change\n',
    );
    expect(await nightshift('test', 'new-issue', '--document', '{1')).toMatchObject({ code: 2, stdout: '' });
  });

  it('disables and enables a trigger, and changes nothing else of it', async () => {
    const { definition } = await shown('new-issue');
    expect((await nightshift('disable', 'new-issue')).stdout).toBe('disabled default/new-issue\n');
    expect(await shown('new-issue')).toMatchObject({ enabled: false, definition });
    expect(await nightshift('test', 'new-issue')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('disabled'),
    });
    expect((await nightshift('enable', 'new-issue')).stdout).toBe('enabled default/new-issue\n');
    expect((await shown('new-issue'))['definition']).toEqual(definition);
  });

  it('requires --collection if the collection of the trigger is a pattern with classes', async () => {
    const definition = { triggerId: 'classes', collection: 'notes-[a-z]', events: ['create'], url: '/webhook/llm' };
    await save(definition);
    expect(await nightshift('test', 'classes')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--collection'),
    });
    expect((await nightshift('test', 'classes', '--collection', 'notes-b')).stdout).toMatch(/^fires\n/);
  });

  it('shows no control characters of a stored definition', async () => {
    const start = { prompt: '"a\u009b31mb"' };
    await save({ triggerId: 'painted', source: 'webhook', start });
    expect((await nightshift('show', 'painted')).stdout).toContain('a31mb');
  });

  it('deletes a trigger', async () => {
    expect((await nightshift('delete', 'shop/on-order')).stdout).toBe('deleted shop/on-order\n');
    expect(await linesOf('list', '--database', 'shop')).toEqual([]);
    expect((await nightshift('list', '--database', 'shop')).stderr).toContain('No triggers.');
  });
});

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
  let env: CliServer['env'];

  beforeAll(() => {
    ({ env } = server);
  });

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

interface Payload {
  readonly endpoint: { readonly id: string; readonly enabled: boolean } | null;
  readonly secret: string | null;
  readonly userErrors: readonly { readonly code: string }[];
}

describe('nightshift webhooks', () => {
  const mutate = async (name: string, type: string, input: object): Promise<Payload> => {
    const query = `mutation ($input: ${type}!) { ${name}(input: $input) { endpoint { id enabled } secret userErrors { code } } }`;
    const { data } = (await ask(query, { input })) as { data: Record<string, Payload> };
    return data[name] as Payload;
  };
  const nightshift = async (...words: string[]) => (await runCli(['webhooks', ...words], { env: server.env })).stdout;
  const ended = (id: string, status: string) =>
    eventually(`${id} is ${status}`, async () =>
      (await nightshift('log', '--status', status, '--json')).includes(id) ? true : undefined,
    );

  it('manages an endpoint by its mutations, and tests and redelivers by the commands', async () => {
    const terms = { url: receiver.url(), events: ['JOB_COMPLETED'] };
    const { endpoint, secret } = await mutate('saveWebhookEndpoint', 'SaveWebhookEndpointInput', terms);
    const id = endpoint?.id ?? '';
    expect(secret).toMatch(/^whsec_/);
    receiver.answer = (response) => response.writeHead(400).end();
    const sent: string[] = [];
    for (let i = 0; i < 3; i++) {
      const { id: delivery } = JSON.parse(await nightshift('test', id, '--json')) as { id: string };
      await ended(delivery, 'dead');
      sent.push(delivery);
    }
    receiver.answer = (response) => response.writeHead(200).end();
    expect(await nightshift('redeliver', sent[0] ?? '')).toBe('1 webhook is sent again.\n');
    await ended(sent[0] ?? '', 'delivered');
    const range = ['--endpoint', id, '--from', '2026-01-01T00:00:00Z'];
    expect(await nightshift('redeliver', ...range)).toBe('2 webhooks are sent again.\n');
    for (const delivery of sent) await ended(delivery, 'delivered');

    expect((await mutate('rotateWebhookSecret', 'RotateWebhookSecretInput', { id })).secret).not.toBe(secret);
    const own = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`;
    const rotated = await mutate('rotateWebhookSecret', 'RotateWebhookSecretInput', { id, secret: own });
    expect(rotated).toMatchObject({ secret: null, userErrors: [] });
    for (const enabled of [false, true]) {
      const input = { id, enabled };
      const set = await mutate('setWebhookEndpointEnabled', 'SetWebhookEndpointEnabledInput', input);
      expect(set.endpoint?.enabled).toBe(enabled);
    }
    await mutate('removeWebhookEndpoint', 'WebhookEndpointInput', { id });
    expect((await mutate('removeWebhookEndpoint', 'WebhookEndpointInput', { id })).userErrors).toMatchObject([
      { code: 'not_found' },
    ]);
  });
});
