import { describe, expect, it } from '@jest/globals';

import { runThere } from '../../../../test/harness/oracle-library.js';
import { runHere } from '../../../../test/harness/oracle-own.js';
import { definition, onBothSides, readBy, worldOf } from '../../../../test/harness/oracle-sides.js';
import type { PersonReply } from '../../../../test/harness/oracle-world.js';

const hitl = (mode: string) => ({ hitl: { enabled: true, mode } });

/** A person who gives these answers in turn, the last one again and again. */
function saying(...answers: readonly PersonReply[]): () => PersonReply {
  let index = -1;
  return () => {
    index = Math.min(index + 1, answers.length - 1);
    return answers[index] ?? { action: 'approve' };
  };
}

describe('differences from or3-workflow-core with people:', () => {
  it('6: or3 revises an output from its own text without a new review; Nightshift from its input, with a review', async () => {
    const document = definition({ x: 'agent', a: ['agent', hitl('review')] }, ['start > x', 'x > a']);
    const play = async (run: typeof runHere) => {
      const world = worldOf({ x: 'X', a: 'A' }, { person: saying({ action: 'reject' }, { action: 'approve' }) });
      const { asked, calls } = await run(document, world);
      return { asked: asked.length, again: calls.at(-1)?.messages.at(-1) };
    };
    expect(await play(runThere)).toEqual({ asked: 1, again: 'user: A' });
    expect(await play(runHere)).toEqual({ asked: 2, again: 'user: X' });
  });

  it('7: or3 shows the id of the session as the name of the workflow; Nightshift shows the name', async () => {
    const document = definition({ a: ['agent', hitl('approval')] }, ['start > a']);
    const { there, here } = await onBothSides(document, worldOf({ a: 'A' }, { person: saying({ action: 'approve' }) }));
    expect(there.asked).toEqual([{ nodeId: 'a', input: '<hello>', workflowName: 'session-1' }]);
    expect(here.asked).toEqual([{ nodeId: 'a', input: '<hello>', workflowName: '<flow>' }]);
  });

  it.each(['approval', 'input'])(
    '10: or3 ignores an empty text for the input (%s); in Nightshift the node reads it',
    async (mode) => {
      const document = definition({ x: 'agent', a: ['agent', hitl(mode)] }, ['start > x', 'x > a']);
      const world = worldOf({ x: 'X', a: 'A' }, { person: saying({ action: 'submit', data: '' }) });
      const { there, here } = await onBothSides(document, world);
      expect(readBy(there, 'a')).toEqual(['user: <hello>', 'assistant: X', 'user: X']);
      expect(readBy(here, 'a')).toEqual(['user: <hello>', 'assistant: X']);
    },
  );

  it('10: or3 ignores an empty text for the output; Nightshift passes it on', async () => {
    const document = definition({ a: ['agent', hitl('review')] }, ['start > a']);
    const world = worldOf({ a: 'A' }, { person: saying({ action: 'modify', data: '' }) });
    const { there, here } = await onBothSides(document, world);
    expect([there.finalOutput, here.finalOutput]).toEqual(['A', '']);
  });

  it('16: or3 requests an approval again for a retry; Nightshift requests it once', async () => {
    const retry = { errorHandling: { mode: 'stop', retry: { maxRetries: 1, baseDelay: 1 } } };
    const document = definition({ a: ['agent', { ...hitl('approval'), ...retry }] }, ['start > a']);
    const fails = { text: '', fail: { message: 'down', status: 500 } };
    const { there, here } = await onBothSides(
      document,
      worldOf({ a: fails }, { person: saying({ action: 'approve' }) }),
    );
    expect([there.calls.length, there.asked.length]).toEqual([2, 2]);
    expect([here.calls.length, here.asked.length]).toEqual([2, 1]);
  });
});

describe('or3-workflow-core ends in the same way with people', () => {
  const answers: readonly (readonly [string, PersonReply])[] = [
    ['approval', { action: 'approve' }],
    ['approval', { action: 'approve', data: '<other>' }],
    ['approval', { action: 'custom', data: { n: 1 } }],
    ['approval', { action: 'skip' }],
    ['approval', { action: 'reject' }],
    ['input', { action: 'submit', data: '<given>' }],
    ['input', { action: 'skip' }],
    ['input', { action: 'reject' }],
    ['review', { action: 'approve' }],
    ['review', { action: 'skip' }],
    ['review', { action: 'reject' }],
  ];
  it.each(answers)('when %s is answered with %j', async (mode, answer) => {
    const edges = ['start > a', 'a:output > o', 'a:rejected > n'];
    const input = ['output', { useRawTemplate: true }] as const;
    const document = definition({ a: ['agent', hitl(mode)], o: input, n: input }, edges);
    const { there, here } = await onBothSides(document, worldOf({ a: 'A' }, { person: () => answer }));
    // There, a node that is not run is not begun; the name is difference 7.
    const sameName = { asked: [expect.objectContaining({ nodeId: 'a', input: '<hello>' })] };
    expect(here).toEqual({ ...there, ...sameName, begun: here.begun });
  });

  it('when a rejection has no edge', async () => {
    const document = definition({ a: ['agent', hitl('approval')] }, ['start > a']);
    const { there, here } = await onBothSides(document, worldOf({ a: 'A' }, { person: () => ({ action: 'reject' }) }));
    expect([here.success, here.error, here.outputs]).toEqual([there.success, there.error, there.outputs]);
    expect(await runThere(document, worldOf({ a: 'A' }))).toMatchObject({ success: true });
  });
});
