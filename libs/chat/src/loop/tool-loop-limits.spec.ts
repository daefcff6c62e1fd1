import { describe, expect, it } from '@jest/globals';

import { ModelError, type ModelPart } from '#models';

import {
  broken,
  calls,
  finish,
  kinds,
  planned,
  play,
  type Script,
  text,
} from '../../../../test/harness/scripted-loop.js';

const tooSlow = new ModelError({
  ...{ code: 'model_stream_broken', message: 'It broke.' },
  ...{ retryable: true, afterFirstByte: true, mayRestart: false },
});

describe('toolLoop at its limits', () => {
  it('requests the last round without tools and explains why', async () => {
    const { requests, outcome, steps } = await play([[calls(['x'])], [[text('ok'), finish()]]], {
      limits: { maxRounds: 2, maxToolCallsPerRound: 20, maxOutputBytes: 1_000, maxRestartsPerRound: 2 },
    });
    expect(requests.map((request) => request.tools?.length)).toEqual([3, undefined]);
    expect(requests[1]?.messages.at(-1)).toMatchObject({
      role: 'system',
      content: expect.stringContaining('tool limit') as unknown,
    });
    expect(steps.filter((step) => step.type === 'round-started').map((step) => step.toolsOffered)).toEqual([3, 0]);
    expect(outcome).toEqual({ type: 'finished', reason: 'stop' });
  });

  it('stops when the last round requests calls although it has no tools', async () => {
    const script = Array.from({ length: 10 }, (_, n) => [calls(['x', `{"n":${n}}`])]);
    const { outcome, steps } = await play(script);
    expect(outcome).toMatchObject({
      type: 'stopped',
      code: 'round_limit',
      message: 'Background tool loop exceeded max iterations (10)',
    });
    expect(planned(steps).at(-1)?.disposition).toMatchObject({ status: 'skipped' });
  });

  it('requests a round without tools after two rounds with repeated calls only', async () => {
    const same = [calls(['x', '{"a":1}'])];
    const { requests, steps } = await play([same, same, same, [[text('fine'), finish()]]]);
    expect(requests.map((request) => request.tools?.length)).toEqual([3, 3, 3, undefined]);
    expect(steps.filter((step) => step.type === 'run-calls')).toHaveLength(1);
    expect(requests[3]?.messages.at(-1)).toMatchObject({ role: 'system' });
  });

  it('runs a failed call twice more', async () => {
    const same = [calls(['x', '{"a":1}'])];
    const { steps } = await play([same, same, same, same, [[text('fine'), finish()]]], {}, () => [
      { ordinal: 1, status: 'error', text: 'no' },
    ]);
    expect(steps.filter((step) => step.type === 'run-calls')).toHaveLength(3);
  });

  it('restarts a round whose stream broke and withdraws its text', async () => {
    const { steps, outcome } = await play([
      [[text('Hal')], broken()],
      [[text('Whole')], [finish()]],
    ]);
    expect(kinds(steps)).toEqual(['round-started', 'text', 'round-restarted', 'text', 'round-finished']);
    expect(steps.at(-1)).toMatchObject({ text: 'Whole' });
    expect(outcome.type).toBe('finished');
  });

  it('treats a stream without a finish part as broken', async () => {
    const { steps } = await play([[[text('Hal')]], [[text('Whole'), finish()]]]);
    expect(kinds(steps)).toContain('round-restarted');
  });

  it('stops after two restarts of a round and keeps the text shown last', async () => {
    const half: Script = [[text('Hal')], broken()];
    const { outcome } = await play([half, half, half]);
    expect(outcome).toMatchObject({ type: 'stopped', code: 'model_stream_broken', open: { round: 1, text: 'Hal' } });
  });

  it.each([
    ['before the first byte', broken(false)],
    ['for good', broken(true, false)],
    ['after which only another job may repeat it', tooSlow],
  ])('does not repeat the request after a failure %s', async (_, failure) => {
    const { outcome } = await play([[failure]]);
    expect(outcome).toMatchObject({
      type: 'stopped',
      code: 'model_stream_broken',
      message: 'It broke.',
      open: { text: '' },
    });
  });

  it('throws an error that is not a failure of the model', async () => {
    await expect(play([[new TypeError('bug')]])).rejects.toThrow('bug');
  });

  it('stops at the output limit and keeps the accepted text', async () => {
    const limits = { maxRounds: 10, maxToolCallsPerRound: 20, maxOutputBytes: 10, maxRestartsPerRound: 2 };
    const { steps, outcome } = await play([[[text('12345')], [text('6789😀')], [text('never read')]]], { limits });
    expect(steps.slice(1)).toEqual([
      { type: 'text', round: 1, text: '12345' },
      { type: 'text', round: 1, text: '6789' },
    ]);
    expect(outcome).toMatchObject({ type: 'stopped', code: 'OUTPUT_LIMIT', open: { text: '123456789' } });
  });

  it('collects every call of a response, and refuses those beyond the limit and those with too long arguments', async () => {
    const limits = { maxRounds: 10, maxToolCallsPerRound: 2, maxOutputBytes: 1_000, maxRestartsPerRound: 2 };
    const long = JSON.stringify({ text: 'x'.repeat(70_000) });
    const { steps } = await play([[calls(['x'], ['y', long], ['x'])]], { limits, collectsCalls: true });
    const captured = steps.flatMap((step) => (step.type === 'round-finished' ? [step.captured ?? ''] : []));
    expect(captured.map((text) => JSON.parse(text) as unknown)).toEqual([
      [
        { callId: 'id0', name: 'x', arguments: '{}' },
        expect.objectContaining({ callId: 'id1', refusal: expect.stringContaining('65536 bytes') }),
        expect.objectContaining({ callId: 'id2', refusal: expect.stringContaining('2 tool calls') }),
      ],
    ]);
  });

  it('counts the output of earlier rounds without withdrawn text', async () => {
    const limits = { maxRounds: 10, maxToolCallsPerRound: 20, maxOutputBytes: 10, maxRestartsPerRound: 2 };
    const first = [[text('12345'), ...calls(['x'])]];
    const fine = await play([first, [[text('9999')], broken()], [[text('67890'), finish()]]], { limits });
    expect(fine.outcome.type).toBe('finished');
    const over = await play([first, [[text('678901'), finish()]]], { limits });
    expect(over.outcome).toMatchObject({ code: 'OUTPUT_LIMIT', open: { text: '67890' } });
  });

  it('stops between rounds when it is aborted', async () => {
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const { outcome } = await play([[calls(['x'])]], { signal: controller.signal }, () => {
      controller.abort(reason);
      return [{ ordinal: 1, status: 'cancelled', text: 'Tool execution cancelled' }];
    });
    expect(outcome).toMatchObject({ type: 'stopped', code: 'aborted', cause: reason, open: null });
  });

  it('reports an abort as the cause of every later error', async () => {
    const controller = new AbortController();
    const abortAndBreak = function* (): Generator<readonly ModelPart[]> {
      yield [text('Hal')];
      controller.abort();
      throw broken();
    };
    const { outcome } = await play([abortAndBreak()], { signal: controller.signal });
    expect(outcome).toMatchObject({ type: 'stopped', code: 'aborted', open: { round: 1, text: 'Hal' } });
  });

  it('waits while a call is open and continues when it is settled', async () => {
    const first = await play([[calls(['x'], ['y'])]], {}, () => [{ ordinal: 2, status: 'completed', text: 'two' }]);
    expect(first.outcome).toMatchObject({ type: 'waiting', round: 1, calls: [{ ordinal: 1, callId: 'id0' }] });
  });
});
