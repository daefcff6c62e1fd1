import { describe, expect, it } from '@jest/globals';

import type { NewJobEvent } from '../events/job-event.js';
import { shownTexts } from './shown-texts.js';

const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
const delta = (round: number, text: string, rest: { offset?: number; nodeId?: string } = {}): NewJobEvent => ({
  type: 'text-delta',
  body: { round, text, ...rest },
});
const restarted = (round: number, contentLength: number): NewJobEvent => ({
  type: 'round-restarted',
  body: { round, reason: 'broken', contentLength, reasoningLength: 0 },
});
const finished = (round: number): NewJobEvent => ({
  type: 'round-finished',
  body: { round, finishReason: 'stop', usage, toolCallIds: [] },
});
const contentOf = (events: readonly NewJobEvent[]) =>
  shownTexts(events)
    .text.map(({ text }) => text)
    .join('');

describe('shownTexts', () => {
  it('joins the content of all rounds and skips text that only a node shows', () => {
    const log = [
      delta(1, 'ab', { offset: 0 }),
      delta(2, 'aside', { nodeId: 'n' }),
      delta(3, 'cd', { offset: 2, nodeId: 'm' }),
    ];
    expect(contentOf(log)).toBe('abcd');
  });

  it('removes withdrawn text and keeps text that is shown again after it', () => {
    const log = [
      delta(1, 'ab', { offset: 0, nodeId: 'n' }),
      delta(2, 'cd', { offset: 2, nodeId: 'm' }),
      delta(1, 'ef', { offset: 4, nodeId: 'n' }),
      restarted(1, 0),
      delta(2, 'cd', { offset: 0 }),
    ];
    expect(contentOf(log)).toBe('cd');
    expect(shownTexts(log).open).toEqual(new Map([[2, { nodeId: 'm', isContent: true }]]));
  });

  it('keeps the part of a round that lies before a withdrawal', () => {
    expect(contentOf([delta(1, 'abcd', { offset: 0 }), restarted(2, 3)])).toBe('abc');
  });

  it('lists unfinished rounds and where they were shown', () => {
    const log = [
      delta(1, 'a', { offset: 0 }),
      finished(1),
      delta(2, 'aside', { nodeId: 'n' }),
      delta(3, 'b', { offset: 1, nodeId: 'm' }),
      finished(3),
      delta(4, 'c', { offset: 2 }),
      restarted(4, 2),
      delta(3, 'b', { offset: 2 }),
    ];
    expect(shownTexts(log).open).toEqual(new Map([[2, { nodeId: 'n', isContent: false }]]));
  });
});
