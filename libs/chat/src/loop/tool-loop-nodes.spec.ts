import { describe, expect, it } from '@jest/globals';

import { calls, finish, kinds, planned, play, settled, text } from '../../../../test/harness/scripted-loop.js';

const limits = { maxRounds: 2, maxToolCallsPerRound: 20, maxOutputBytes: 1_000, maxRestartsPerRound: 2 };
const capture = { type: 'function', function: { name: 'answer' } } as const;

describe('toolLoop of one conversation among others', () => {
  it('uses external round numbers and counts its own rounds for limits and the forced choice', async () => {
    const numbers = [4, 9];
    const { steps, requests } = await play([[calls(['x'])], [[text('ok'), finish()]]], {
      limits,
      toolChoice: 'required',
      nextRound: () => numbers.shift() ?? 0,
    });
    expect(steps.filter((step) => step.type === 'round-finished').map(({ round }) => round)).toEqual([4, 9]);
    expect(requests.map(({ toolChoice }) => toolChoice)).toEqual(['required', undefined]);
  });

  it('continues after committed rounds with any numbers', async () => {
    const { requests } = await play([[[text('ok'), finish()]]], {
      limits: { ...limits, maxRounds: 3 },
      rounds: [settled(7, 'seven')],
      nextRound: () => 12,
    });
    expect(requests[0]?.tools).toHaveLength(3);
  });

  it('stops after the calls of the last round if that round has tools', async () => {
    const { outcome, steps, requests } = await play([[calls(['x', '{"n":1}'])], [calls(['x', '{"n":2}'])]], {
      limits: { ...limits, lastRound: 'like-others' },
    });
    expect(requests.map(({ tools }) => tools?.length)).toEqual([3, 3]);
    expect(kinds(steps).at(-1)).toBe('run-calls');
    expect(outcome).toMatchObject({ type: 'stopped', code: 'round_limit' });
  });

  it('ends with the capture call and runs no other call of that round', async () => {
    const { outcome, steps, requests } = await play([[calls(['x'], ['answer', '{"a":1}'])]], { capture });
    expect(requests[0]?.tools?.map((tool) => tool.function.name)).toEqual(['x', 'y', 'theirs', 'answer']);
    expect(steps.at(-1)).toMatchObject({ type: 'round-finished', calls: [], captured: '{"a":1}' });
    expect(outcome).toMatchObject({ type: 'finished' });
  });

  it('ends with an empty text when the arguments of the capture call are longer than 64 KiB', async () => {
    const long = JSON.stringify({ a: `${'x'.repeat(65_536)}\u0000` });
    const { steps } = await play([[calls(['answer', long])]], { capture });
    expect(steps.at(-1)).toMatchObject({ type: 'round-finished', calls: [], captured: '' });
  });

  it('offers the capture tool alone and forces it', async () => {
    const toolChoice = { type: 'function', function: { name: 'answer' } } as const;
    const { requests } = await play([[[text('no'), finish()]]], { capture, toolChoice, offered: [] });
    expect(requests[0]).toMatchObject({ tools: [capture], toolChoice });
  });

  it("renames calls whose ids the job's other conversations use", async () => {
    const { steps } = await play([[calls(['x', '{}', 'id0'])], [[text('ok'), finish()]]], {
      usedCallIds: new Set(['id0']),
      nextRound: () => 5,
    });
    expect(planned(steps)[0]?.callId).toBe('call_5_1');
  });

  it('uses the given text for a call to an unknown tool', async () => {
    const { requests } = await play([[calls(['gone'])], [[text('ok'), finish()]]], {
      unknownTool: (name) => `no ${name}`,
    });
    expect(requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'no gone' });
  });
});
