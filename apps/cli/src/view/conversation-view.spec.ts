import { PassThrough } from 'node:stream';

import { describe, expect, it } from '@jest/globals';
import type { JobEvent } from '@nightshift/client';

import { type Output, Screen } from '../terminal/screen.js';
import { ConversationView } from './conversation-view.js';

function output(isTTY: boolean): { readonly stream: Output; text(): string } {
  let text = '';
  const stream = new PassThrough().setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  return { stream: Object.assign(stream, { isTTY, columns: 80 }), text: () => text };
}

function shown(events: readonly object[], isTTY: boolean) {
  const [out, errors] = [output(isTTY), output(isTTY)];
  const input = Object.assign(new PassThrough(), { isTTY });
  const screen = new Screen({
    ...{ input, out: out.stream, errors: errors.stream },
    ...{ noColor: true, isDumb: true, noInput: true },
  });
  const view = new ConversationView(screen, () => 0);
  let seq = 0;
  for (const event of events) {
    seq += 1;
    // What an event of that kind has, as far as it is looked at.
    view.show({ seq, jobId: 'j', at: new Date(seq * 100).toISOString(), attempt: 0, ...event } as JobEvent);
  }
  view.close();
  return { out: out.text(), errors: errors.text() };
}

const delta = (offset: number | null, text: string) => ({ __typename: 'TextDeltaEvent', round: 1, offset, text });
const restarted = (contentLength: number) => ({
  __typename: 'RoundRestartedEvent',
  ...{ round: 1, reason: 'lease_lost', contentLength, reasoningLength: 0 },
});
const call = (status: string, more: object = {}) => ({
  __typename: 'ToolCallUpdatedEvent',
  toolCall: { callId: 'c', name: 'send', arguments: '{"to":"ann"}', status, result: null, error: null, ...more },
});
const finished = {
  __typename: 'JobFinishedEvent',
  ...{ status: 'COMPLETED', reason: 'stop', error: null, rounds: 2, toolCalls: 1, durationMs: 1_234 },
  usage: { totalTokens: 1_291, promptTokens: 1_164, completionTokens: 127 },
};

describe('ConversationView', () => {
  it('prints what a job waits for without a prompt', () => {
    const opened = (kind: string) => ({
      __typename: 'InterruptOpenedEvent',
      ...{ interruptId: 'i', kind, callId: null, title: 'w waits for "paid"' },
    });
    expect(shown([opened('WAIT')], false).errors).toBe('  … w waits for "paid" · request i\n');
    expect(shown([opened('HUMAN_INPUT')], false).errors).toBe('');
  });

  it('omits figures that are zero', () => {
    const at = new Date(0).toISOString();
    const node = { at, nodeRunId: 'r', nodeId: 'n', label: 'Sum', type: 'transform', path: [], iteration: null };
    const usage = { totalTokens: 0, promptTokens: 0, completionTokens: 0 };
    const { errors } = shown(
      [
        { __typename: 'NodeStartedEvent', ...node },
        { __typename: 'NodeFinishedEvent', ...node, nodeStatus: 'COMPLETED', error: null, output: '' },
        { ...finished, usage },
      ],
      false,
    );
    expect(errors).toBe('  ✓ Sum\ncompleted · 2 rounds · 1 tool call · 1.2 s\n');
  });

  it('prints text as it arrives, each piece once', () => {
    const { out } = shown([delta(0, 'Hel'), delta(2, 'llo'), delta(null, 'of a node'), delta(5, '!'), finished], true);
    expect(out).toBe('Hello!\n');
  });

  it('prints when text is withdrawn, and continues after the text that stays', () => {
    const { out, errors } = shown([delta(0, 'Hello'), restarted(2), delta(2, 'y'), finished], true);
    expect(out).toBe('Hello\ny\n');
    expect(errors).toContain('its previous text is withdrawn');
  });

  it('writes to a pipe only at the end, without withdrawn text', () => {
    const { out } = shown([delta(0, 'Hello'), restarted(2), delta(2, 'y\u001b[2J'), finished], false);
    expect(out).toBe('Hey[2J\n');
  });

  it('prints a line for each call, with its time, and one for the outcome of the job', () => {
    const { errors } = shown([call('RUNNING'), call('COMPLETED', { result: 'sent' }), finished], false);
    expect(errors).toBe(
      '  ✓ send(to: "ann") → sent  100 ms\n' +
        'completed · 2 rounds · 1 tool call · 1,291 tokens (1,164 in, 127 out) · 1.2 s\n',
    );
  });

  it('prints the proposed arguments of a call that was edited', () => {
    const edited = { arguments: '{"to":"bob"}', proposedArguments: '{"to":"ann"}', result: 'sent' };
    const { errors } = shown([call('RUNNING'), call('COMPLETED', edited)], false);
    expect(errors).toBe('  ✓ send(to: "bob") → sent  100 ms\n    edited, proposed: (to: "ann")\n');
  });

  it('prints a call with an unknown outcome again once a person has decided it', () => {
    const { errors } = shown([call('INTERRUPTED'), call('COMPLETED', { result: 'sent' })], false);
    expect(errors.split('\n')).toEqual([
      '  ? send(to: "ann") outcome unknown',
      '  ✓ send(to: "ann") → sent  100 ms',
      '',
    ]);
  });

  it('prints the missing text of a snapshot', () => {
    const snapshot = (content: string) => ({
      __typename: 'JobSnapshotEvent',
      ...{ status: 'RUNNING', reset: true, content, toolCallStates: [], interrupts: [] },
    });
    expect(shown([delta(0, 'Hel'), snapshot('Hello'), finished], true).out).toBe('Hello\n');
    expect(shown([delta(0, 'Hel'), snapshot('Bye'), finished], true).out).toBe('Hel\nBye\n');
  });
});
