import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { type Delta, isDelta, type NewJobEvent } from '../events/job-event.js';
import type { TextPlace } from '../text/text-place.js';
import { PendingWrite } from './pending-write.js';
import { RunText } from './run-text.js';

const node = (nodeId: string, isContent: boolean): TextPlace => ({ nodeId, isContent });
const bodies = (events: readonly NewJobEvent[]) => events.map(({ body }) => body);

/** What a viewer shows after `log`, by the rules of the protocol. */
function view(log: readonly NewJobEvent[]) {
  const shown = { content: '', reasoning: '', nodes: new Map<string, string>() };
  const roundsAt = new Map<string, Map<number, string>>();
  for (const { type, body } of log) {
    if (type === 'round-restarted') {
      shown.content = shown.content.slice(0, body.contentLength);
      shown.reasoning = shown.reasoning.slice(0, body.reasoningLength);
      roundsAt.get(body.nodeId ?? '')?.delete(body.round);
    }
    if (type !== 'text-delta' && type !== 'reasoning-delta') continue;
    const field = type === 'text-delta' ? 'content' : 'reasoning';
    if (body.offset !== undefined) expect(body.offset).toBe(shown[field].length);
    if (body.offset !== undefined) shown[field] += body.text;
    if (type === 'text-delta' && body.nodeId !== undefined) {
      const rounds = roundsAt.get(body.nodeId) ?? new Map<number, string>();
      roundsAt.set(body.nodeId, rounds.set(body.round, (rounds.get(body.round) ?? '') + body.text));
    }
  }
  for (const [nodeId, rounds] of roundsAt) shown.nodes.set(nodeId, [...rounds.values()].join(''));
  return shown;
}

describe('RunText', () => {
  it('sets no offset for text that only a node shows', () => {
    const text = new RunText(4);
    expect(bodies([text.text(1, 'aside', node('a', false)), text.text(2, 'main', node('b', true))])).toEqual([
      { round: 1, text: 'aside', nodeId: 'a' },
      { round: 2, offset: 4, text: 'main', nodeId: 'b' },
    ]);
    expect([text.close(1), text.close(2), text.contentLength]).toEqual([0, 4, 8]);
  });

  it('adds branchId to deltas of a parallel node', () => {
    const place = { ...node('a', false), branchId: 'left' };
    expect(new RunText(0).text(1, 'x', place).body).toEqual({ round: 1, text: 'x', nodeId: 'a', branchId: 'left' });
  });

  it('counts content and reasoning separately', () => {
    const text = new RunText(0);
    text.text(1, 'one');
    text.text(2, 'three');
    text.text(1, 'two');
    expect([text.close(2), text.close(1), text.close(3)]).toEqual([5, 6, 0]);
  });

  it('withdraws a round and shows later text of other rounds again', () => {
    const text = new RunText(2);
    text.text(1, 'ab', node('a', true));
    text.text(2, 'cd', node('b', true));
    text.text(1, 'ef', node('a', true));
    expect(bodies(text.restart(1, 'broken', node('a', true)))).toEqual([
      { round: 1, reason: 'broken', contentLength: 2, reasoningLength: 0, nodeId: 'a' },
      { round: 2, offset: 2, text: 'cd' },
    ]);
    expect(text.contentLength).toBe(4);
  });

  it('withdraws no content for a round that is not content', () => {
    const text = new RunText(0);
    text.text(1, 'ab');
    text.text(2, 'cd', node('a', false));
    expect(bodies(text.restart(2, 'broken', node('a', false)))).toEqual([
      { round: 2, reason: 'broken', contentLength: 2, reasoningLength: 0, nodeId: 'a' },
    ]);
  });

  it('resumes the text of another worker and withdraws unfinished rounds', () => {
    const text = new RunText(2);
    const shown = [
      { round: 1, text: 'ab' },
      { round: 2, text: 'cd' },
    ];
    text.resume({ text: shown, reasoning: [], open: new Map([[1, undefined]]) });
    expect(bodies(text.restart(1, 'worker_lost'))).toEqual([
      { round: 1, reason: 'worker_lost', contentLength: 0, reasoningLength: 0 },
      { round: 2, offset: 0, text: 'cd' },
    ]);
  });
});

const act = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ does: fc.constant('show' as const), at: fc.nat(3), chars: fc.integer({ min: 1, max: 3 }) }),
  },
  fc.record({ does: fc.constantFrom('restart' as const, 'close' as const), at: fc.nat(3) }),
  fc.record({ does: fc.constant('write' as const) }),
);

describe('the text of concurrent rounds', () => {
  it('reaches every viewer complete, as content and at its node, in any order of writes', () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 40 }), fc.boolean(), (acts, allContent) => {
        const text = new RunText(0);
        const pending = new PendingWrite({ chunks: 4, bytes: 100 });
        const log: NewJobEvent[] = [];
        const places = [0, 1, 2, 3].map((at) => node(`n${at}`, allContent || at > 0));
        const shownNow = ['', '', '', ''];
        const rounds = [1, 2, 3, 4];
        const finished = ['', '', '', ''];
        let letter = 0;
        const show = (at: number, chars: number): Delta => {
          const piece = String.fromCharCode(97 + (letter++ % 26)).repeat(chars);
          shownNow[at] = (shownNow[at] ?? '') + piece;
          return text.text(rounds[at] ?? 0, piece, places[at]);
        };
        for (const one of acts) {
          if (one.does === 'write') log.push(...pending.take().events);
          else if (one.does === 'show') pending.addPiece(show(one.at, one.chars));
          else if (one.does === 'close') {
            const grown = text.close(rounds[one.at] ?? 0);
            expect(grown).toBe(places[one.at]?.isContent === true ? shownNow[one.at]?.length : 0);
            finished[one.at] = (finished[one.at] ?? '') + (shownNow[one.at] ?? '');
            shownNow[one.at] = '';
            rounds[one.at] = Math.max(...rounds) + 1;
          } else {
            const events = text.restart(rounds[one.at] ?? 0, 'broken', places[one.at]);
            pending.withdraw(events[0].body);
            pending.add({ events });
            shownNow[one.at] = '';
          }
        }
        log.push(...pending.take().events);
        const shown = view(log);
        expect(places.map(({ nodeId }) => shown.nodes.get(nodeId) ?? '')).toEqual(
          shownNow.map((open, at) => `${finished[at] ?? ''}${open}`),
        );
        const content = shownNow.flatMap((open, at) =>
          places[at]?.isContent === true ? [`${finished[at] ?? ''}${open}`] : [],
        );
        const letters = (whole: string) => Array.from(whole).sort().join('');
        expect(letters(shown.content)).toBe(letters(content.join('')));
        expect(shown.content).toHaveLength(text.contentLength);
        expect(log.filter(isDelta).every(({ body }) => body.text.length > 0)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
