import { describe, expect, it } from '@jest/globals';

import { compileGlob } from './collection-glob.js';
import { compileCondition, compileExpression, type TriggerEvent, valuesOf } from './trigger-condition.js';
import { parseTrigger } from './trigger-definition.js';
import { type DocumentChange, TriggerIndex } from './trigger-index.js';

const message: DocumentChange = {
  database: 'acme',
  collection: 'users/7/orch-chats/1/messages',
  type: 'create',
  timestamp: 1_700_000_000_000,
  path: 'users/7/orch-chats/1/messages/m1',
  document: {
    id: 'm1',
    collection: 'messages',
    version: 3,
    role: 'user',
    content: 'Hello',
    tags: ['a', 'b'],
    count: 5,
  },
  before: null,
};

/** True, false, or the problem. */
function answer(source: string, changes: Partial<TriggerEvent> = {}): unknown {
  const compiled = compileCondition(source);
  if (!compiled.ok) return compiled.problem;
  const value = compiled.evaluate(valuesOf({ ...message, ...changes }));
  return value.ok ? value.value : value.problem;
}

describe('compileCondition', () => {
  it.each([
    "role == 'user'",
    "event.document.role == 'user'",
    "event.document.data.role == 'user'",
    "event.document.id == 'm1' && event.document.version == 3 && event.document.collection == 'messages'",
    "event.type == 'create' && event.before == null && event.timestamp > 1600000000000",
    "count == 5 && count > 4.5 && tags.exists(tag, tag == 'b')",
    'has(event.document.content) && !has(event.document.missing)',
    "event.path.startsWith('users/7/')",
  ])('compiles a condition that is true for the event: %s', (source) => {
    expect(answer(source)).toBe(true);
  });

  it('reads a field that has the name of a type, and the type where there is no such field', () => {
    const document = { type: 'invoice.paid', string: 'a', list: ['b'], map: { int: 1 }, tags: ['c'], int: 7 };
    for (const source of [
      "type == 'invoice.paid' && type.startsWith('invoice.')",
      "string == 'a' && list.exists(one, one == 'b') && map.int == 1 && int == 7",
      "tags.exists(type, type == 'c')",
      'type(tags) == event.document.list || int(1.0) == 1',
    ])
      expect([source, answer(source, { document })]).toEqual([source, true]);
    expect(answer('type(role) == string && type(count) != bool')).toBe(true);
    const before = { type: 'old' };
    expect(answer("type == 'old'", { type: 'delete', document: null, before })).toBe(true);
  });

  it('reads the bare names of a deleted document from `before`', () => {
    const deleted = { type: 'delete', document: null, before: { role: 'user', id: 'm1' } } as const;
    expect(answer("role == 'user' && event.document == null", deleted)).toBe(true);
  });

  it('merges a real field `data` into `data`', () => {
    const document = { id: 'm1', role: 'user', data: { role: 'inner', more: 1 } };
    expect(answer("event.document.data.role == 'inner' && event.document.data.more == 1", { document })).toBe(true);
    expect(answer("role == 'user' && data.role == 'inner'", { document })).toBe(true);
  });

  it('reports a missing field, a wrong type and a value that is not a bool', () => {
    expect(answer("missing == 'x'")).toMatch(/Unknown variable: missing/);
    expect(answer('constructor == 1')).toMatch(/Unknown variable: constructor/);
    expect(answer("event.document.missing == 'x'")).toMatch(/No such key/);
    expect(answer('role + 1 == 2')).toMatch(/no such overload/);
    expect(answer("event.before.role == 'user'")).toEqual(expect.any(String));
  });

  it('prefers `event` to a field of this name', () => {
    expect(answer("event.type == 'create'", { document: { event: { type: 'mine' } } })).toBe(true);
  });

  it('stops after 10,000 steps, in nested loops of literals and of documents', () => {
    const ten = '[0,1,2,3,4,5,6,7,8,9]';
    const nested = `${ten}.all(a, ${ten}.all(b, ${ten}.all(c, ${ten}.all(d, a + b + c + d >= 0))))`;
    expect(answer(nested)).toMatch(/^takes more than (10000 steps|5 ms)$/);
    expect(answer(`${nested} || true`)).toMatch(/^takes more than (10000 steps|5 ms)$/);
    expect(answer(`${ten}.all(a, ${ten}.all(b, a + b >= 0))`)).toBe(true);
    const tags = Array.from({ length: 3_600 }, (_, i) => i);
    expect(answer('tags.all(tag, tag >= 0)', { document: { tags } })).toMatch(/^takes more than (10000 steps|5 ms)$/);
  });

  it('counts the members of compared lists and maps as steps', () => {
    const map = () => Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`k${i}`, i]));
    const document = { a: map(), b: { c: [map()] }, d: { c: [map()] }, lists: [[1], [2]] };
    for (const source of ['a == b.c[0]', 'b != d', '[b] == [d]', "{'x': b} == {'x': d}", '[a] in [[b.c[0]]]'])
      expect([source, answer(source, { document })]).toEqual([source, 'takes more than 10000 steps']);
    const fewSteps = answer("'k7' in a && [2] in lists && a != null && b.c != lists", { document });
    expect([true, 'takes more than 5 ms']).toContain(fewSteps); // the processor time depends on the machine
  });

  it('types the elements of nested lists and maps as dyn, so that cel-js keeps few types', () => {
    expect(compileExpression('[[[1]]]')).toMatchObject({ type: 'list' });
    expect(compileExpression("{'a': [{1: true}]}")).toMatchObject({ type: 'map<string, dyn>' });
    expect(answer('[[[1]]] == [[[1]]] && [[1]][0][0] == 1 && [[1, 2]].exists(x, 2 in x)')).toBe(true);
    expect(answer('a == b', { document: { a: [[['x']]], b: [[[1]]] } })).toBe(false);
  });

  it('replaces NUL in a problem, which Postgres cannot store', () => {
    expect(answer("event['a\\u0000b'] == 1")).toBe('No such key: a\uFFFDb');
  });

  it('stops after 5 ms of processor time, where few steps take long', () => {
    const document = { content: 'ab'.repeat(500_000), tags: Array.from({ length: 1_000 }, (_, i) => `aba${i}`) };
    expect(answer('tags.all(tag, !content.contains(tag + "!"))', { document })).toBe('takes more than 5 ms');
  });

  it('stops a match of a long text, which no step interrupts', () => {
    const content = Array.from({ length: 300_000 }, (_, i) => 'ab'[((i * 7_919) % 13) & 1]).join('');
    const condition = String.raw`content.matchesRe2('(a[ab]{0,400}){1,2}[cd]\\B')`;
    for (const source of [condition, `${condition} || true`])
      expect([source, answer(source, { document: { content } })]).toEqual([source, 'takes more than 5 ms']);
    expect(answer("content.matchesRe2('^a') || content.matchesRe2('^b')", { document: { content } })).toBe(true);
  });

  it('stops operations on texts that take long together', () => {
    const document = { a: 'A'.repeat(1_000_000) };
    const sum = Array.from({ length: 15 }, () => 'a').join(' + ');
    const lower = '.lowerAscii()'.repeat(6);
    expect(answer(`(${sum})${lower} == 'b'`, { document })).toBe('takes more than 5 ms');
  });

  it('starts the step count of each run at zero', () => {
    const tags = Array.from({ length: 1_500 }, (_, i) => i);
    const answers = [1, 2, 3, 4].map(() => answer('tags.all(tag, tag >= 0)', { document: { tags } }));
    expect(answers).toEqual([true, true, true, true]);
  });
});

describe('compileGlob', () => {
  it.each([
    ['messages', 'messages', true],
    ['users/*/messages', 'users/7/messages', true],
    ['users/*/messages', 'users/7/8/messages', false],
    ['users/?/m*s', 'users/7/messages', true],
    ['users/?/m*s', 'users/77/messages', false],
    ['users/[a-c]x', 'users/bx', true],
    ['users/[a-c]x', 'users/dx', false],
    ['users/[^a-c]x', 'users/dx', true],
    ['a*b*c', 'aXbXbXc', true],
    ['a*b*c', 'aXcXb', false],
    ['*', '', true],
    ['a.c', 'abc', false],
  ])('%s against %s: %s', (pattern, collection, fits) => {
    expect(compileGlob(pattern)(collection)).toBe(fits);
  });

  it('needs no backtracking for a hostile pattern', () => {
    expect(compileGlob(`${'*a'.repeat(60)}*b`)('a'.repeat(1_000))).toBe(false);
  });
});

describe('TriggerIndex', () => {
  const trigger = (triggerId: string, changes: object) => ({
    definition: parseTrigger(
      { triggerId, collection: 'users/*/orch-chats/*/messages', events: ['create'], url: '/webhook/llm', ...changes },
      { database: 'acme' },
    ),
  });
  const index = new TriggerIndex([
    trigger('plain', {}),
    trigger('filtered', { condition: "role == 'user'", filters: ["content == 'Hello'", 'count == 6'] }),
    trigger('broken', { condition: 'missing' }),
    trigger('no-bool', { condition: 'role' }),
    trigger('other-event', { events: ['update', 'delete'] }),
    trigger('other-collection', { collection: 'users/*' }),
    trigger('other-database', { database: 'other' }),
    trigger('webhook', { source: 'webhook', url: undefined, start: {} }),
  ]);

  it('evaluates triggers whose database, event and collection match, and reports conditions that fail', () => {
    const found = [...index.evaluate(message)].map(({ trigger: { definition }, fires, problem }) => ({
      id: definition.triggerId,
      fires,
      problem,
    }));
    expect(found).toEqual([
      { id: 'plain', fires: true, problem: null },
      { id: 'filtered', fires: false, problem: null },
      { id: 'broken', fires: false, problem: expect.stringContaining('Unknown variable: missing') },
      { id: 'no-bool', fires: false, problem: 'the condition gives no bool' },
    ]);
  });

  it('gives the same result from its cache of collections', () => {
    expect([...index.evaluate(message)]).toEqual([...index.evaluate(message)]);
  });

  it('evaluates no further trigger of an event whose conditions have taken 500 ms', () => {
    const condition = 'tags.all(tag, !content.contains(tag + "!"))'; // takes more than 5 ms
    const slow = new TriggerIndex(Array.from({ length: 200 }, (_, i) => trigger(`slow-${i}`, { condition })));
    const document = { content: 'ab'.repeat(500_000), tags: Array.from({ length: 1_000 }, (_, i) => `aba${i}`) };
    const problems = Array.from(slow.evaluate({ ...message, document }), ({ problem }) => problem);
    expect(problems).toHaveLength(200);
    expect(problems[0]).toBe('takes more than 5 ms');
    expect(problems.at(-1)).toBe('not evaluated: earlier triggers of the event took 500 ms');
  });
});
