import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { JobEvent } from './follow-job.js';
import { JobText } from './job-text.js';

const head = { seq: 1, jobId: 'j', at: '', attempt: 0 };
const delta = (offset: number | null, text: string): JobEvent => ({
  __typename: 'TextDeltaEvent',
  ...head,
  round: 1,
  offset,
  text,
  nodeId: null,
  branchId: null,
});
const restarted = (contentLength: number): JobEvent => ({
  __typename: 'RoundRestartedEvent',
  ...head,
  round: 1,
  reason: '',
  contentLength,
  reasoningLength: 0,
  nodeId: null,
  branchId: null,
});
const snapshot = (content: string): JobEvent => ({
  __typename: 'JobSnapshotEvent',
  ...head,
  reset: true,
  status: 'RUNNING',
  content,
  reasoning: '',
  error: null,
  roundStates: [],
  toolCallStates: [],
  interrupts: [],
});

describe('the text of a job', () => {
  it('grows by deltas and shrinks when a round restarts', () => {
    const text = new JobText();
    expect(text.take(delta(0, 'It is fou'))).toEqual({ keep: 0, append: 'It is fou', text: 'It is fou' });
    expect(text.take(restarted(6))).toEqual({ keep: 6, append: '', text: 'It is ' });
    expect(text.take(delta(6, 'five'))).toEqual({ keep: 6, append: 'five', text: 'It is five' });
    expect(text.take(restarted(10))).toBeUndefined();
  });

  it('leaves out text that only a node shows', () => {
    expect(new JobText().take(delta(null, 'aside'))).toBeUndefined();
  });

  it('takes the text of a snapshot, and cuts no character in two', () => {
    const text = new JobText();
    text.take(delta(0, 'a🌍'));
    expect(text.take(snapshot('a🌍'))).toBeUndefined();
    expect(text.take(snapshot('a🌍b'))).toMatchObject({ keep: 3, append: 'b' });
    expect(text.take(snapshot('a🌎'))).toMatchObject({ keep: 1, append: '🌎' });
    expect(text.take(snapshot('a'))).toMatchObject({ keep: 1, append: '' });
  });

  it('reaches the whole text for any sequence of events', () => {
    const step = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => ({ say: text })),
      fc.nat({ max: 40 }).map((length) => ({ withdraw: length })),
      fc.string({ unit: 'grapheme', maxLength: 40 }).map((content) => ({ content })),
    );
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const text = new JobText();
        let server = '';
        let shown = '';
        for (const one of steps) {
          const event =
            'say' in one
              ? delta(server.length, one.say)
              : 'withdraw' in one
                ? restarted(Math.min(one.withdraw, server.length))
                : snapshot(one.content);
          if ('say' in one) server += one.say;
          else if ('withdraw' in one) server = server.slice(0, one.withdraw);
          else server = one.content;
          const change = text.take(event);
          if (change !== undefined) shown = shown.slice(0, change.keep) + change.append;
          expect([text.text, shown, change?.text ?? server]).toEqual([server, server, server]);
        }
      }),
    );
  });
});
