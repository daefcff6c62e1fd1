import { describe, expect, it } from '@jest/globals';

import type { ModelPart, ToolChoice } from '#models';

import {
  calls,
  finish,
  kinds,
  planned,
  play,
  type Script,
  text,
  USAGE,
} from '../../../../test/harness/scripted-loop.js';
import { toolLoop } from './tool-loop.js';

describe('toolLoop', () => {
  it('streams a response without tools, one piece per read', async () => {
    const { steps, outcome } = await play([[[text('Hel'), text('lo')], [text('!')], [finish()]]]);
    expect(steps).toEqual([
      { type: 'round-started', round: 1, toolsOffered: 3 },
      { type: 'text', round: 1, text: 'Hello' },
      { type: 'text', round: 1, text: '!' },
      {
        type: 'round-finished',
        round: 1,
        text: 'Hello!',
        reasoning: '',
        finishReason: 'stop',
        usage: USAGE,
        calls: [],
      },
    ]);
    expect(outcome).toEqual({ type: 'finished', reason: 'stop' });
  });

  it('finishes with the reason length when the model was truncated', async () => {
    const { outcome } = await play([[[text('half'), finish('length')]]]);
    expect(outcome).toEqual({ type: 'finished', reason: 'length' });
  });

  it('yields reasoning separately from text', async () => {
    const { steps } = await play([[[{ type: 'reasoning', text: 'hm' }, text('ok')], [finish()]]]);
    expect(steps.slice(1, 3)).toEqual([
      { type: 'reasoning', round: 1, text: 'hm' },
      { type: 'text', round: 1, text: 'ok' },
    ]);
  });

  it('starts tool calls after their round has finished and sends their results in the next round', async () => {
    const { steps, outcome, requests } = await play([
      [[text('Let me see. '), ...calls(['x', '{"a":1}'], ['y'])]],
      [[text('Done'), finish()]],
    ]);
    expect(kinds(steps)).toEqual([
      'round-started',
      'text',
      'round-finished',
      'run-calls',
      'round-started',
      'text',
      'round-finished',
    ]);
    expect(requests[1]?.messages).toEqual([
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: 'Let me see. ',
        tool_calls: [
          { id: 'id0', type: 'function', function: { name: 'x', arguments: '{"a":1}' } },
          { id: 'id1', type: 'function', function: { name: 'y', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'id0', content: 'done 1' },
      { role: 'tool', tool_call_id: 'id1', content: 'done 2' },
    ]);
    expect(outcome).toEqual({ type: 'finished', reason: 'stop' });
  });

  it('sends the results in the order of the calls when they arrive in another order', async () => {
    const { requests } = await play([[calls(['x'], ['y'])], [[text('.'), finish()]]], {}, () => [
      { ordinal: 2, status: 'error', text: 'two' },
      { ordinal: 1, status: 'completed', text: 'one' },
    ]);
    expect(requests[1]?.messages.slice(2).map((message) => message.content)).toEqual(['one', 'two']);
  });

  it('runs calls also when the finish reason is stop', async () => {
    const [asked] = calls(['x']);
    const { steps } = await play([[[...(asked ? [asked] : []), finish('stop')]], [[text('.'), finish()]]]);
    expect(kinds(steps)).toContain('run-calls');
  });

  it('does not yield a call that cannot run, and adds its error result', async () => {
    const { steps, requests } = await play([[calls(['nope'], ['theirs'])], [[text('.'), finish()]]]);
    expect(kinds(steps)).not.toContain('run-calls');
    expect(requests[1]?.messages.slice(2).map((message) => message.content)).toEqual([
      'Tool "nope" is not registered on server.',
      'Tool "theirs" is client-only.',
    ]);
  });

  it('runs 20 calls of a round and skips the rest', async () => {
    const many = Array.from({ length: 200 }, (_, n) => ['x', `{"n":${n}}`, `c${n}`] as const);
    const { steps } = await play([[calls(...many)], [[text('.'), finish()]]]);
    const run = steps.find((step) => step.type === 'run-calls');
    expect(run?.calls.map((call) => call.ordinal)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
  });

  it('applies a forced choice to the first round only', async () => {
    const ask = async (toolChoice: ToolChoice | undefined): Promise<readonly unknown[]> => {
      const played = await play(
        [[calls(['x'])], [[text('.'), finish()]]],
        toolChoice === undefined ? {} : { toolChoice },
      );
      return played.requests.map((request) => request.toolChoice);
    };
    const forced = { type: 'function', function: { name: 'x' } } as const;
    expect(await ask(forced)).toEqual([forced, 'auto']);
    expect(await ask('required')).toEqual(['required', 'auto']);
    expect(await ask('none')).toEqual(['none', 'none']);
    expect(await ask(undefined)).toEqual([undefined, undefined]);
  });

  it('gives a call another id when the provider repeats one', async () => {
    const same = (n: number): Script => [calls(['x', `{"n":${n}}`, 'call_0'])];
    const { steps } = await play([same(1), same(2), [[text('.'), finish()]]]);
    expect(planned(steps).map((call) => call.callId)).toEqual(['call_0', 'call_2_1']);
  });

  it('closes the connection when the consumer returns early', async () => {
    let freed = false;
    async function* stream(): AsyncGenerator<readonly ModelPart[]> {
      try {
        yield await Promise.resolve([text('a')]);
        yield [text('b')];
      } finally {
        freed = true;
      }
    }
    const loop = toolLoop({
      model: { stream },
      modelName: 'm',
      messages: [],
      rounds: [],
      offered: [],
      limits: { maxRounds: 1, maxToolCallsPerRound: 1, maxOutputBytes: 100, maxRestartsPerRound: 0 },
      signal: new AbortController().signal,
    });
    await loop.next();
    await loop.next();
    await loop.return({ type: 'finished', reason: 'other' });
    expect(freed).toBe(true);
  });
});
