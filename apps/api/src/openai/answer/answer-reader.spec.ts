import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { JobEvent, NewJobEvent } from '#jobs';

import {
  asks,
  contentOf,
  eventsOf,
  oneByOne,
  plainTerms,
  readAnswer,
  snapshotOf,
  stopAfter,
  story,
  takeItem,
  textRound,
  usageOf,
  weather,
} from '../../../../../test/harness/answer-reading.js';
import {
  asLog,
  buildStory,
  completed,
  finishedAs,
  snapshotAfter,
  type StoryRound,
} from '../../../../../test/harness/answer-stories.js';
import type { ViewedItem } from '../../streams/viewed-item.js';
import { AnswerReader } from './answer-reader.js';

describe('AnswerReader text', () => {
  it('sends text as it arrives, and text that arrives together in one piece', () => {
    const log = story(textRound('Hel', 'lo', '!'));
    expect(readAnswer(oneByOne(log))).toEqual([
      { type: 'content', text: 'Hel' },
      { type: 'content', text: 'lo' },
      { type: 'content', text: '!' },
      stopAfter(),
    ]);
    expect(readAnswer([eventsOf(log)])).toEqual([{ type: 'content', text: 'Hello!' }, stopAfter()]);
    expect(readAnswer([snapshotOf(log)])).toEqual([{ type: 'content', text: 'Hello!' }, stopAfter()]);
  });

  it('never splits a surrogate pair', () => {
    const log = story(textRound('a\ud83d', '\ude00b', '\ud83d', 'c\ude00', '\ud83d'));
    const texts = readAnswer(oneByOne(log)).flatMap((part) => (part.type === 'content' ? [part.text] : []));
    expect(texts).toEqual(['a', '😀b', '\ufffdc\ufffd', '\ufffd']);
  });

  it('ends with the finish reason of the last round', () => {
    for (const [finishReason, expected] of [
      ['length', 'length'],
      ['content_filter', 'content_filter'],
      ['other', 'stop'],
      ['tool_calls', 'stop'],
    ] as const) {
      const log = story({ ...asks('a', weather), finishReason: 'length' }, { ...textRound('b'), finishReason });
      for (const items of [oneByOne(log), [snapshotOf(log)]])
        expect(readAnswer(items).at(-1)).toMatchObject({ type: 'end', finishReason: expected, error: null });
    }
  });

  it('counts the tokens of its rounds and reports whether they were estimated', () => {
    const log = asLog(
      story(asks('a', weather), textRound('b')).map((event): NewJobEvent => {
        return event.type === 'round-finished' && event.body.round === 1
          ? { type: 'round-finished', body: { ...event.body, usageEstimated: true } }
          : event;
      }),
    );
    for (const items of [oneByOne(log), [snapshotOf(log)]])
      expect(readAnswer(items).at(-1)).toMatchObject({
        usage: { promptTokens: 20, completionTokens: 10, estimated: true },
      });
    expect(readAnswer(oneByOne(log), { afterRound: 1 }).at(-1)).toMatchObject({ usage: usageOf(1) });
  });
});

describe('AnswerReader with a chosen agent', () => {
  const chosen = (usageEstimated: boolean): NewJobEvent => ({
    type: 'agent-selected',
    body: {
      ...{ agent: 'a', version: 1, name: 'Poet', slug: 'poet', reasoning: '', fallback: false },
      usage: { promptTokens: 3, completionTokens: 2, totalTokens: 5 },
      ...(usageEstimated ? { usageEstimated } : {}),
    },
  });

  it('adds the tokens of the choice once to the first response, from events and from a snapshot', () => {
    for (const estimated of [true, false]) {
      const log = asLog([chosen(estimated), ...story(textRound('One'))]);
      const late = [...oneByOne(log.slice(0, 2)), snapshotOf(log.slice(0, 3)), ...oneByOne(log.slice(3))];
      for (const items of [oneByOne(log), [snapshotOf(log)], late]) {
        const whole = { promptTokens: 13, completionTokens: 7, estimated };
        expect(readAnswer(items).at(-1)).toMatchObject({ usage: whole });
      }
      const second = asLog([chosen(estimated), ...story(asks('One', weather), textRound('Two'))]);
      for (const items of [oneByOne(second), [snapshotOf(second)]])
        expect(readAnswer(items, { afterRound: 1 }).at(-1)).toMatchObject({ usage: usageOf(1) });
    }
  });
});

describe('AnswerReader of a failed job', () => {
  const cases = [
    ['failed', 'Agent execution failed', 'job_failed'],
    ['cancelled', 'The job was cancelled', 'job_cancelled'],
  ] as const;
  it.each(cases)('ends the response after the text so far for a job that %s', (status, message, code) => {
    const log = asLog([...buildStory([textRound('Half')]), finishedAs(status, 'x')]);
    for (const items of [oneByOne(log), [snapshotOf(log)]]) {
      const parts = readAnswer(items);
      expect(contentOf(parts)).toBe('Half');
      expect(parts.at(-1)).toMatchObject({ type: 'end', finishReason: 'stop', error: { status: 500, message, code } });
    }
  });

  it('reports a failure for an empty response unless the model was stopped', () => {
    const empty = { message: 'Agent returned empty response', code: 'job_failed', status: 500 };
    expect(readAnswer(oneByOne(story(textRound())))).toMatchObject([{ type: 'end', error: empty }]);
    expect(readAnswer(oneByOne(story({ ...textRound(), finishReason: 'length' })))).toMatchObject([
      { finishReason: 'length', error: null },
    ]);
  });

  it('reports a failure before any text without beginning the response', () => {
    const reader = new AnswerReader(plainTerms);
    takeItem(reader, eventsOf(asLog([{ type: 'job-started', body: { epoch: 1 } }, finishedAs('failed', 'x')])));
    expect([reader.hasBegun, reader.isOver]).toEqual([false, true]);
  });
});

describe('AnswerReader with a restarted round', () => {
  const restarted = (...attempts: string[][]): StoryRound => ({ attempts, calls: [] });
  const cases: readonly [string, readonly (readonly string[])[], string][] = [
    [
      'repeats the same text',
      [
        ['One ', 'two'],
        ['One', ' two', ' three'],
      ],
      'One two three',
    ],
    ['produces another text', [['One two'], ['One', ' three']], 'One two\n\n[restarted]\n\nOne three'],
    ['produces a shorter text', [['One two'], ['One']], 'One two\n\n[restarted]\n\nOne'],
    ['produces no text', [['One'], []], 'One\n\n[restarted]\n\n'],
    ['repeats the last text', [['A'], ['B'], ['B', 'C']], 'A\n\n[restarted]\n\nBC'],
    ['is restarted while it repeats', [['One two'], ['One'], ['One two', '!']], 'One two!'],
  ];
  it.each(cases)('sends the new text when the round %s', (_, attempts, expected) => {
    const log = story(asks('Before. ', weather), restarted(...attempts.map((pieces) => [...pieces])));
    const before = contentOf(readAnswer(oneByOne(log.slice(0, 5))));
    for (const items of [oneByOne(log), [eventsOf(log)]]) expect(contentOf(readAnswer(items))).toBe(before + expected);
  });

  it('does not show the restart to a client that attaches later', () => {
    expect(contentOf(readAnswer([snapshotOf(story(restarted(['One'], ['Two'])))]))).toBe('Two');
  });
});

describe('AnswerReader of a client that attaches late', () => {
  it('sends everything so far in one piece', () => {
    const log = story(asks('Hm', weather), textRound('Do', 'ne', '.'));
    const catchUpTo = log.findIndex((event) => event.type === 'text-delta' && event.body.text === 'Do') + 1;
    const parts = readAnswer(oneByOne(log), { catchUpTo });
    const [first, ...rest] = parts;
    expect(rest).toEqual([{ type: 'content', text: 'ne' }, { type: 'content', text: '.' }, stopAfter(2)]);
    expect(first).toEqual({ type: 'content', text: expect.stringMatching(/^Hm\n[^]*Sunny<\/tool>\nDo$/) });
    expect(contentOf(parts)).toBe(contentOf(readAnswer(oneByOne(log))));
    expect(readAnswer(oneByOne(log), { catchUpTo: log.length })).toHaveLength(2);
  });
});

describe('AnswerReader for random logs', () => {
  const chars = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '😀', '<'), minLength: 1, maxLength: 6 });
  const call = fc.constantFrom(
    ['running', 'completed'],
    ['completed'],
    ['running', 'error'],
    ['skipped'],
    ['awaiting_approval', 'denied'],
  );
  const round = (attempts: number) =>
    fc.record({
      attempts: fc.array(fc.array(chars, { maxLength: 4 }), { minLength: 1, maxLength: attempts }),
      statuses: fc.array(call, { maxLength: 3 }),
    });
  const rounds = (attempts: number) =>
    fc.array(round(attempts), { minLength: 1, maxLength: 4 }).map((all) =>
      all.map(({ attempts: texts, statuses: of }, i): StoryRound => {
        const calls = of.map((statuses, n) => ({ ...weather, id: `call_${i}_${n}`, statuses, error: 'No' }));
        // With one at a time it does not matter who heard which call begin first.
        return { attempts: texts, calls: calls.slice(0, 1) };
      }),
    );
  const cuts = fc.array(fc.tuple(fc.nat(12), fc.boolean()), { minLength: 1, maxLength: 30 });
  const formats = fc.constantFrom('inline' as const, 'open-webui' as const, 'openai' as const);
  /** Cuts a log into items; some are replaced by a snapshot. */
  const itemsOf = (log: readonly JobEvent[], at: readonly (readonly [number, boolean])[]): readonly ViewedItem[] => {
    const items: ViewedItem[] = [];
    let from = 0;
    for (let i = 0; from < log.length; i++) {
      const [length = 0, asSnapshot = false] = at[i % at.length] ?? [];
      const to = from + length + 1;
      items.push(asSnapshot ? snapshotOf(log.slice(0, to)) : eventsOf(log.slice(from, to)));
      from = to;
    }
    return items;
  };

  it('returns the same response for any split of the log and any snapshot in place of events', () => {
    fc.assert(
      fc.property(rounds(1), cuts, formats, (storyRounds, at, format) => {
        const log = story(...storyRounds);
        const whole = readAnswer([eventsOf(log)], { format });
        const parts = readAnswer(itemsOf(log, at), { format });
        expect([contentOf(parts), parts.at(-1)]).toEqual([contentOf(whole), whole.at(-1)]);
      }),
    );
  });

  it('returns the text of every round, without split surrogate pairs and empty pieces', () => {
    fc.assert(
      fc.property(rounds(3), cuts, formats, (storyRounds, at, format) => {
        const parts = readAnswer(itemsOf(story(...storyRounds), at), { format });
        const text = contentOf(parts);
        for (const part of parts)
          if (part.type === 'content') expect([part.text.isWellFormed(), part.text === '']).toEqual([true, false]);
        expect(storyRounds.every(({ attempts }) => text.includes(attempts.at(-1)?.join('') ?? ''))).toBe(true);
        expect(parts.filter(({ type }) => type === 'end')).toHaveLength(1);
      }),
    );
  });
});

describe('AnswerReader with workflow content', () => {
  const workflow = { kind: 'workflow' } as const;
  const textDelta = (round: number, text: string, offset?: number): NewJobEvent => {
    return { type: 'text-delta', body: { round, text, nodeId: 'n', ...(offset === undefined ? {} : { offset }) } };
  };
  const restart = (round: number, contentLength: number): NewJobEvent => {
    return { type: 'round-restarted', body: { round, reason: 'r', contentLength, reasoningLength: 0, nodeId: 'n' } };
  };

  it('sends only text with an offset in the content of the job', () => {
    const log = asLog([
      textDelta(1, 'draft'),
      textDelta(2, 'Fin', 0),
      textDelta(3, 'draft'),
      textDelta(2, 'al', 3),
      completed,
    ]);
    expect(readAnswer([eventsOf(log)], workflow)).toEqual([{ type: 'content', text: 'Final' }, stopAfter()]);
  });

  it('continues when other rounds wrote after a withdrawn round', () => {
    const log = asLog([
      ...[textDelta(1, 'One. ', 0), textDelta(2, 'Two.', 5), restart(1, 0)],
      ...[textDelta(2, 'Two.', 0), restart(3, 4), textDelta(1, ' One.', 4), completed],
    ]);
    expect(contentOf(readAnswer([eventsOf(log)], workflow))).toBe('One. Two.\n\n[restarted]\n\nTwo. One.');
  });

  it('ends with the final output of the workflow', () => {
    const log = asLog([textDelta(1, 'One.', 0), restart(1, 0), textDelta(2, 'One. Two.', 0), completed]);
    expect(contentOf(readAnswer(oneByOne(log), workflow))).toBe('One. Two.');
    const snapshot = { ...snapshotAfter(log), kind: 'workflow', content: 'One. Two.' } as const;
    expect(
      contentOf(readAnswer([eventsOf(log.slice(0, 1)), { type: 'snapshot', snapshot, reset: true }], workflow)),
    ).toBe('One. Two.');
  });
});
