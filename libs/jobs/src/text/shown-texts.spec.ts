import { describe, expect, it } from '@jest/globals';

import type { NewJobEvent } from '../events/job-event.js';
import { shownTexts } from './shown-texts.js';

const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
const said = (round: number, text: string, rest: { offset?: number; nodeId?: string } = {}): NewJobEvent => ({
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

describe('what a log shows', () => {
  it('is the content of all rounds, without what belongs to nodes only', () => {
    const log = [
      said(1, 'ab', { offset: 0 }),
      said(2, 'aside', { nodeId: 'n' }),
      said(3, 'cd', { offset: 2, nodeId: 'm' }),
    ];
    expect(contentOf(log)).toBe('abcd');
  });

  it('is not what was withdrawn, but what was shown again after it', () => {
    const log = [
      said(1, 'ab', { offset: 0, nodeId: 'n' }),
      said(2, 'cd', { offset: 2, nodeId: 'm' }),
      said(1, 'ef', { offset: 4, nodeId: 'n' }),
      restarted(1, 0),
      said(2, 'cd', { offset: 0 }),
    ];
    expect(contentOf(log)).toBe('cd');
    expect(shownTexts(log).open).toEqual(new Map([[2, { nodeId: 'm', isContent: true }]]));
  });

  it('keeps the part of a round that lies before a withdrawal', () => {
    expect(contentOf([said(1, 'abcd', { offset: 0 }), restarted(2, 3)])).toBe('abc');
  });

  it('tells which rounds nobody has finished, and where they were shown', () => {
    const log = [
      said(1, 'a', { offset: 0 }),
      finished(1),
      said(2, 'aside', { nodeId: 'n' }),
      said(3, 'b', { offset: 1, nodeId: 'm' }),
      finished(3),
      said(4, 'c', { offset: 2 }),
      restarted(4, 2),
      said(3, 'b', { offset: 2 }),
    ];
    expect(shownTexts(log).open).toEqual(new Map([[2, { nodeId: 'n', isContent: false }]]));
  });
});
