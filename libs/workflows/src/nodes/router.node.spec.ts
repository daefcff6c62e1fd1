import { describe, expect, it } from '@jest/globals';

import { type NodeCase, runNode } from '../../../../test/harness/nodes.js';

const edges = [
  ['error', 'oops'],
  ['route-1', 'billing'],
  [null, 'support'],
  ['sales', 'sales'],
] as const;
const router = (over: Partial<NodeCase> = {}): NodeCase => ({ type: 'router', edges, ...over });
const reply = (text: string, captured: string | null = null): NonNullable<NodeCase['models']> => ({
  '': [{ type: 'answered', text, captured }],
});
const call = (args: object): NonNullable<NodeCase['models']> => reply('', JSON.stringify(args));

describe('a router node', () => {
  it('forces the model to make one call that selects a route', async () => {
    const { record } = await runNode(router({ data: { prompt: 'Be kind.', model: 'm' }, models: reply('1') }));
    expect(record.conversations).toHaveLength(1);
    expect(record.conversations[0]).toMatchObject({
      isShown: false,
      model: 'm',
      tools: [],
      toolChoice: { type: 'function', function: { name: 'select_route' } },
      parameters: { temperature: 0, max_tokens: 100 },
      capture: {
        function: {
          name: 'select_route',
          parameters: {
            properties: { route_id: { enum: ['route-1', 'sales'] } },
            required: ['route_id', 'reasoning'],
          },
        },
      },
    });
    const [system, user] = record.texts();
    expect(system).toContain('1. BILLING (id: route-1)\n   about billing');
    expect(system).toContain('2. SUPPORT (id: route-1)');
    expect(system).toContain('3. SALES (id: sales)');
    expect(system).toContain('Rules:\nBe kind.');
    expect(system).not.toContain('OOPS');
    expect(user).toBe('hello');
  });

  it('sends the model no history, and as attachments only images that the model accepts', async () => {
    const attachments = [
      { type: 'image', url: 'i' },
      { type: 'file', url: 'f' },
    ] as const;
    const { record } = await runNode(
      router({
        models: reply('1'),
        session: [{ role: 'user', content: 'earlier' }],
        attachments,
        ports: { modelTakes: () => Promise.resolve(true) },
      }),
    );
    expect(record.texts().slice(1)).toEqual([
      [
        { type: 'text', text: 'hello' },
        { type: 'image_url', image_url: { url: 'i' } },
      ],
    ]);
    expect(record.conversations[0]?.model).toBeNull();
  });

  it('fails without a route', async () => {
    await expect(runNode(router({ edges: [['error', 'oops']] }))).rejects.toThrow('Router node has no routes defined');
  });
});

describe('router nodes', () => {
  const named = [
    ['a', 'first'],
    ['b', 'second'],
    ['c', 'third'],
  ] as const;

  it.each([
    ['a call', call({ route_id: 'b', reasoning: 'because' }), 'b', 'because'],
    ['a call without a reason', call({ route_id: 'c' }), 'c', ''],
    ['an id', reply(' B '), 'b', ''],
    ['a name', reply('Third\n'), 'c', ''],
    ['a number', reply('I take route 2.'), 'b', ''],
    ['the first number that is one of a route', reply('Of 10 reasons, 3 and 2 count'), 'c', ''],
    ['a name, rather than a number', reply('second'), 'b', ''],
  ])('follows %s', async (...[, models, route, reasoning]) => {
    const { outcome } = await runNode(router({ edges: named, models }));
    const target = named.find(([id]) => id === route)?.[1] ?? '';
    expect(outcome).toEqual({
      type: 'finished',
      output: 'hello',
      handles: [route],
      handOn: 'output',
      extra: {
        route: {
          selectedRoute: route,
          selectedNodeId: target,
          selectedName: target.toUpperCase(),
          reasoning,
          fallbackUsed: false,
        },
      },
    });
  });

  const none = [
    ['an empty text', reply('')],
    ['a text without a number', reply('the first, I think')],
    ['a number that no route has', reply('0 or 4')],
    ['a call with another id', call({ route_id: 'd', reasoning: 'x' })],
    ['a call with a name for an id', call({ route_id: 'SECOND', reasoning: 'x' })],
    ['a call that is not JSON, with any text beside it', reply('2', '{"route_id"')],
  ] as const;

  it.each(none)('ignores %s, and falls back to the first route', async (_fact, models) => {
    const { outcome, record } = await runNode(router({ edges: named, models }));
    expect(outcome).toMatchObject({
      output: 'hello',
      handles: ['a'],
      extra: { route: { selectedRoute: 'a', reasoning: '', fallbackUsed: true } },
    });
    expect(record.warnings).toHaveLength(1);
  });

  it.each(none)('ignores %s, and fails when the fallback is error', async (_fact, models) => {
    await expect(runNode(router({ edges: named, models, data: { fallbackBehavior: 'error' } }))).rejects.toThrow(
      'Router "n" failed to select a valid route.',
    );
  });

  it.each(none)('ignores %s, and takes no route when the fallback is none', async (_fact, models) => {
    const { outcome } = await runNode(router({ edges: named, models, data: { fallbackBehavior: 'none' } }));
    expect(outcome).toEqual({
      type: 'finished',
      output: 'Router failed to select a route',
      handles: [],
      handOn: 'output',
    });
  });

  it('becomes the output when the document enables the echo', async () => {
    const meta = { compat: { routerEcho: true } };
    const { outcome } = await runNode(router({ edges: named, meta, models: reply('b') }));
    expect(outcome).toMatchObject({ output: 'Routed to SECOND', handOn: 'output' });
  });

  it('can be reviewed like the output of an agent', async () => {
    const { outcome, record } = await runNode(
      router({
        edges: named,
        data: { hitl: { enabled: true, mode: 'review' } },
        models: { ...reply('b'), 'review@1': ['c'] },
        people: {
          'review@1': { action: 'reject', data: undefined },
          'review@2': { action: 'approve', data: undefined },
        },
      }),
    );
    expect(outcome).toMatchObject({ output: 'hello', handles: ['c'], extra: { rejections: 1 } });
    expect(record.conversations.map(({ branch }) => branch)).toEqual([undefined, 'review@1']);
  });
});
