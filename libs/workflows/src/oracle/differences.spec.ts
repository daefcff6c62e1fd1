import { describe, expect, it } from '@jest/globals';

import { runThere } from '../../../../test/harness/oracle-library.js';
import { runHere } from '../../../../test/harness/oracle-own.js';
import { definition, onBothSides, readBy, worldOf } from '../../../../test/harness/oracle-sides.js';
import type { RawCall } from '../../../../test/harness/oracle-world.js';
import { createGate } from '../../../../test/harness/scripted-reply.js';

const fails = { text: '', fail: { message: 'down', status: 401 } };
const loop = (data: object) => ['whileLoop', { conditionPrompt: '<more?>', maxIterations: 1, ...data }] as const;
const route = (id: string) => ({
  text: '',
  calls: [{ name: 'select_route', arguments: JSON.stringify({ route_id: id, reasoning: '' }) }],
});
const way = (...ids: readonly string[]) => ['router', { routes: ids.map((id) => ({ id, label: id })) }] as const;

/** The intended differences from or3-workflow-core. The numbers are those of the list of accepted differences. */
describe('differences from or3-workflow-core:', () => {
  it('1: in or3 a join reads the parent that ended last; in Nightshift all parents, in the order of the edges', async () => {
    const document = definition({ a: 'agent', b: 'agent', c: 'agent' }, ['start > a', 'start > b', 'b > c', 'a > c']);
    const play = (run: typeof runHere) => {
      const ended = createGate();
      const world = worldOf({
        a: () => ended.opened.then(() => ({ text: 'A' })),
        b: () => {
          ended.open();
          return { text: 'B' };
        },
        c: 'C',
      });
      return run(document, world);
    };
    expect(readBy(await play(runThere), 'c')?.at(-1)).toBe('user: A');
    expect(readBy(await play(runHere), 'c')?.at(-1)).toBe('user: B\n\nA');
  });

  it('2: or3 runs one side of a fork in a body; Nightshift runs both', async () => {
    const document = definition({ l: loop({ loopMode: 'fixed' }), f: 'agent', x: 'agent', y: 'agent' }, [
      ...['start > l', 'l:body > f', 'f > x', 'f > y'],
    ]);
    const { there, here } = await onBothSides(document, worldOf({ f: 'F', x: 'X', y: 'Y' }));
    expect([there.begun, there.finalOutput]).toEqual([['start', 'l', 'f', 'x'], 'X']);
    expect([here.begun, here.finalOutput]).toEqual([['start', 'l', 'f', 'x', 'y'], 'X\n\nY']);
  });

  it('2: in or3 a join in a body reads one parent; in Nightshift all', async () => {
    const document = definition({ l: loop({ loopMode: 'fixed' }), f: 'agent', x: 'agent', y: 'agent', j: 'agent' }, [
      ...['start > l', 'l:body > f', 'f > x', 'f > y', 'x > j', 'y > j'],
    ]);
    const { there, here } = await onBothSides(document, worldOf({ f: 'F', x: 'X', y: 'Y', j: 'J' }));
    expect(readBy(there, 'j')?.at(-1)).toBe('user: Y');
    expect(readBy(here, 'j')?.at(-1)).toBe('user: X\n\nY');
  });

  it('4: in or3 a node after a router reads the choice; in Nightshift the input of the router, unless the definition sets an echo', async () => {
    const nodes = { r: way('left'), a: 'agent' } as const;
    const edges = ['start > r', 'r:left > a'];
    const world = worldOf({ route: route('left'), a: 'A' });
    const { there, here } = await onBothSides(definition(nodes, edges), world);
    expect([there.outputs['r'], readBy(there, 'a')]).toEqual([
      'Routed to <a>',
      ['user: <hello>', 'user: Routed to <a>'],
    ]);
    expect([here.outputs['r'], readBy(here, 'a')]).toEqual(['<hello>', ['user: <hello>']]);
    expect(await runHere(definition(nodes, edges, { compat: { routerEcho: true } }), world)).toEqual(there);
  });

  it.each(['I cannot tell', ''])(
    '5: or3 selects the first route for the response "%s"; Nightshift selects none',
    async (text) => {
      const router = ['router', { ...way('x', 'y')[1], fallbackBehavior: 'error' }] as const;
      const document = definition({ r: router, a: 'agent', b: 'agent' }, ['start > r', 'r:x > a', 'r:y > b']);
      const { there, here } = await onBothSides(document, worldOf({ route: text, a: 'A', b: 'B' }));
      expect(there).toMatchObject({ success: true, finalOutput: 'A' });
      expect(here).toMatchObject({ success: false, error: 'UNKNOWN at r: Router "r" failed to select a valid route.' });
    },
  );

  it('6: or3 sends results of tools as system text; Nightshift as messages of their own', async () => {
    const document = definition({ a: ['agent', { tools: ['find'] }] }, ['start > a']);
    const play = async (run: typeof runHere) => {
      const raw: RawCall[] = [];
      await run(document, {
        tools: { find: () => 'found' },
        reply: (_, call) => {
          raw.push(call);
          return raw.length === 1 ? { text: '', calls: [{ name: 'find', arguments: '{}' }] } : { text: 'done' };
        },
      });
      return raw[1]?.messages.slice(2);
    };
    expect(await play(runThere)).toEqual([
      { role: 'assistant', content: '[Calling tools...]' },
      { role: 'system', content: '[Tool Result: find]\nfound' },
    ]);
    expect(await play(runHere)).toEqual([
      { role: 'assistant', content: null, tool_calls: [expect.objectContaining({ id: 'call_0' })] },
      { role: 'tool', tool_call_id: 'call_0', content: 'found' },
    ]);
  });

  it('8: after a failure that is passed over, or3 reads the text before it; Nightshift an empty text', async () => {
    const lenient = ['agent', { errorHandling: { mode: 'continue', retry: { maxRetries: 0, baseDelay: 1 } } }] as const;
    const document = definition({ x: 'agent', a: lenient, b: 'agent' }, ['start > x', 'x > a', 'a > b']);
    const { there, here } = await onBothSides(document, worldOf({ x: 'X', a: fails, b: 'B' }));
    expect(readBy(there, 'b')).toEqual(['user: <hello>', 'assistant: X', 'user: X']);
    expect(readBy(here, 'b')).toEqual(['user: <hello>', 'assistant: X']);
  });

  it('9: in or3 an agent without a list of tools has all; in Nightshift none, unless the definition lists them', async () => {
    const nodes = { a: 'agent' } as const;
    const world = worldOf({ a: 'A' }, { tools: { find: () => '', count: () => '' } });
    const { there, here } = await onBothSides(definition(nodes, ['start > a']), world);
    const offered = ['count', 'find'];
    expect([there.calls[0]?.tools, here.calls[0]?.tools]).toEqual([offered, []]);
    const inMeta = await runHere(definition(nodes, ['start > a'], { tools: ['*'] }), world);
    const atNode = await runHere(definition({ a: ['agent', { tools: ['*'] }] }, ['start > a']), world);
    expect([inMeta.calls[0]?.tools, atNode.calls[0]?.tools]).toEqual([offered, offered]);
  });

  it('11: in or3 the siblings of a failed node continue; in Nightshift they stop', async () => {
    const document = definition({ a: 'agent', b: ['agent', { tools: ['find'] }] }, ['start > a', 'start > b']);
    const play = async (run: typeof runHere) => {
      const [gate, found] = [createGate(), createGate()];
      let rounds = 0;
      const world = worldOf(
        {
          a: fails,
          b: async () => {
            await gate.opened;
            rounds += 1;
            return rounds === 1 ? { text: '', calls: [{ name: 'find', arguments: '{}' }] } : { text: 'B' };
          },
        },
        { tools: { find: () => (found.open(), 'found') } },
      );
      const { success } = await run(document, world);
      gate.open();
      const isRun = await Promise.race([found.opened.then(() => true), nextTurns().then(() => false)]);
      return { success, isRun };
    };
    expect(await play(runThere)).toEqual({ success: false, isRun: true });
    expect(await play(runHere)).toEqual({ success: false, isRun: false });
  });

  it('12: or3 keeps a placeholder in a text and an id with a dash; Nightshift fills both', async () => {
    const subflow = { inputs: [{ id: 't', name: 'T', type: 'string', required: true }], outputs: [] };
    const subflows = { child: definition({ o: 'output' }, ['start > o'], { subflow }) };
    const nodes = {
      'the-child': ['subflow', { subflowId: 'child', inputMappings: { t: 'say {{start}}!' } }],
      o: ['output', { useRawTemplate: true, template: 'Result: {{the-child}}' }],
    } as const;
    const { there, here } = await onBothSides(
      definition(nodes, ['start > the-child', 'the-child > o']),
      worldOf({}, { subflows }),
    );
    expect([there.outputs['the-child'], there.finalOutput]).toEqual(['say {{start}}!', 'Result: {{the-child}}']);
    expect([here.outputs['the-child'], here.finalOutput]).toEqual(['say <hello>!', 'Result: say <hello>!']);
  });

  it('13: or3 refuses a router with a route that it does not declare; Nightshift runs it', async () => {
    const document = definition({ r: way(), a: 'agent' }, ['start > r', 'r:elsewhere > a']);
    const { there, here } = await onBothSides(document, worldOf({ route: route('elsewhere'), a: 'A' }));
    expect(there).toMatchObject({ success: false, error: expect.stringContaining('UNKNOWN_HANDLE'), calls: [] });
    expect(here).toMatchObject({ success: true, finalOutput: 'A' });
  });

  it('14: in or3 a failed subflow succeeds without output; in Nightshift its node fails or takes the error edge', async () => {
    const subflows = { child: definition({ x: 'agent' }, ['start > x']) };
    const nodes = {
      s: ['subflow', { subflowId: 'child', inputMappings: { input: '{{input}}' } }],
      a: 'agent',
      h: 'agent',
    } as const;
    const world = worldOf({ x: fails, a: 'A', h: 'H' }, { subflows });
    const { there, here } = await onBothSides(definition({ s: nodes.s, a: nodes.a }, ['start > s', 's > a']), world);
    expect(there).toMatchObject({ success: true, outputs: { s: '', a: 'A' } });
    expect(here).toMatchObject({ success: false, error: 'AUTH at s: down', order: ['start'] });
    const led = await onBothSides(definition(nodes, ['start > s', 's:output > a', 's:error > h']), world);
    expect(led.there.outputs).toEqual({ start: '<hello>', s: '', a: 'A' });
    expect(led.here.outputs).toEqual({ start: '<hello>', s: 'Subflow error: down', h: 'H' });
  });

  it('15: in or3 a node is skipped if one parent does not choose it; in Nightshift one parent that chooses it is enough', async () => {
    const document = definition({ a: 'agent', r: way('x', 'y'), x: 'agent', y: 'agent' }, [
      ...['start > a', 'start > r', 'a > x', 'r:x > x', 'r:y > y'],
    ]);
    const { there, here } = await onBothSides(document, worldOf({ a: 'A', route: route('y'), x: 'X', y: 'Y' }));
    expect(there.order).toEqual(['start', 'a', 'r', 'y']);
    expect(here.order).toEqual(['start', 'a', 'r', 'x', 'y']);
    expect(readBy(here, 'x')?.at(-1)).toBe('user: A');
  });

  it('16: in or3 a loop of fixed iterations fails if its limit is an error; in Nightshift it completes', async () => {
    const fixed = loop({ loopMode: 'fixed', onMaxIterations: 'error', maxIterations: 2 });
    const document = definition({ l: fixed, b: 'agent' }, ['start > l', 'l:body > b']);
    const { there, here } = await onBothSides(document, worldOf({ b: 'B' }));
    expect(there).toMatchObject({ success: false, error: 'UNKNOWN at l: While loop reached max iterations (2)' });
    expect(here).toMatchObject({ success: true, finalOutput: 'B' });
  });

  it('17: in or3 an agent at its tool limit omits its last text; in Nightshift it reports it', async () => {
    const document = definition({ a: ['agent', { tools: ['find'], maxToolIterations: 2 }] }, ['start > a']);
    const asks = { text: 'Still looking', calls: [{ name: 'find', arguments: '{}' }] };
    const { there, here } = await onBothSides(document, worldOf({ a: asks }, { tools: { find: () => 'found' } }));
    const warning = 'Warning: Maximum tool iterations (2) reached. Last content: ';
    expect([there.finalOutput, here.finalOutput]).toEqual([warning, `${warning}Still looking`]);
  });
});

/** Runs everything that happens without further input. */
async function nextTurns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
