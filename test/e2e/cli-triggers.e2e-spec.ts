import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { runCli } from '../harness/cli.js';
import { type CliServer, startCliServer } from '../harness/cli-server.js';

describe('nightshift triggers', () => {
  let server: CliServer;

  beforeAll(async () => {
    server = await startCliServer();
    for (const definition of definitions) await save(definition);
  });
  afterAll(() => server.close());

  type Row = Readonly<Record<string, unknown>>;

  const hook = {
    ...{ triggerId: 'new-issue', source: 'webhook', condition: "action == 'opened'", timeout: '7s' },
    retryPolicy: { maxAttempts: 4, initialBackoff: '1.5s', maxBackoff: '1m' },
    start: { kind: 'chat', prompt: "'Triage ' + title", delay: '5m' },
  };
  const change = { triggerId: 'on-order', collection: 'orders/*', events: ['update'], start: {} };
  const definitions = [hook, change, { ...change, database: 'shop' }, { ...change, triggerId: 'last' }];

  const save = async (definition: object) => {
    const query = `mutation ($definition: JSON!) { saveTrigger(input: { definition: $definition }) { userErrors { message } } }`;
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${server.key}` },
      body: JSON.stringify({ query, variables: { definition } }),
    });
    expect(await response.json()).toEqual({ data: { saveTrigger: { userErrors: [] } } });
  };
  const nightshift = (...words: string[]) => runCli(['triggers', ...words], { env: server.env });
  const linesOf = async (...words: string[]) => {
    const { stdout } = await nightshift(...words, '--json');
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Row);
  };
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
