import { PassThrough } from 'node:stream';

import { describe, expect, it } from '@jest/globals';

import { Terminal } from '../terminal/terminal.js';
import { endLine, SampleView } from './run-sample.js';
import type { SampleEvent } from './sample-event.js';

function shown(...events: readonly (readonly [at: number, event: SampleEvent])[]): string {
  const out = new PassThrough();
  const view = new SampleView(new Terminal(out));
  for (const [at, event] of events) view.show(event, at);
  return String(out.read() ?? '');
}

const call = { type: 'tool-call', id: 'a', name: 'calculate', args: '{"expression":"17 * 23"}' } as const;

describe('SampleView', () => {
  it('prints a tool call with its time once it is settled', () => {
    const text = shown(
      [10, { ...call, isSettled: false, outcome: '' }],
      [14, { ...call, isSettled: true, outcome: '391' }],
    );

    expect(text).toBe('    14 ms    calculate {"expression":"17 * 23"} -> 391\n');
  });

  it('streams text indented, and ends its line before anything else', () => {
    const text = shown(
      [1, { type: 'round-started', round: 2, model: 'demo' }],
      [2, { type: 'text', text: 'It is' }],
      [3, { type: 'text', text: ' noon.\nYes.' }],
      [4, { type: 'finished', status: 'completed', reason: 'stop' }],
    );

    expect(text).toBe('     1 ms  round 2, demo\n     2 ms    It is noon.\n             Yes.\n');
  });

  it('shows no control characters of a model, and only one line of a result', () => {
    const text = shown(
      [1, { type: 'text', text: '\u001b[31mred' }],
      [2, { ...call, isSettled: true, outcome: `one\ntwo${'x'.repeat(500)}` }],
    );

    expect(text).not.toContain('\u001b');
    expect(text.split('\n')).toHaveLength(3);
    expect(text.length).toBeLessThan(250);
  });
});

it('endLine uses the singular for one round and one tool call', () => {
  const ended = { jobId: 'j', status: 'completed', acceptedMs: 1, firstEventMs: 2, firstTextMs: null, totalMs: 5 };
  const out = new Terminal(new PassThrough());
  expect(endLine({ ...ended, rounds: 1, toolCalls: 1 }, 'stop', out)).toContain(': 1 round, 1 tool call, accepted');
  expect(endLine({ ...ended, rounds: 2, toolCalls: 0 }, 'stop', out)).toContain(': 2 rounds, 0 tool calls, accepted');
});
