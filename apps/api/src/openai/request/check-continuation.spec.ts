import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { ChatMessage } from '#models';

import { OpenAiError } from '../../errors/openai-error.js';
import { checkContinuation, type ContinuationQuestion } from './check-continuation.js';
import { type Continuation, readContinuation, resultsDigest } from './continuation.js';

const user: ChatMessage = { role: 'user', content: 'Hi' };
const calls = (...ids: string[]): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
});
const result = (id: string, content = `r ${id}`): ChatMessage => ({ role: 'tool', tool_call_id: id, content });
const results = (...ids: string[]) => ids.map((id) => ({ id, content: `r ${id}` }));

describe('continuation', () => {
  it.each<[string, readonly ChatMessage[], Continuation]>([
    [
      'counts what follows the last calls',
      [user, calls('a'), result('a'), calls('b', 'c'), result('c'), result('b')],
      { results: results('c', 'b'), after: [], endsWithResults: true },
    ],
    [
      'includes the messages beside the results',
      [user, calls('b'), result('b'), user, { role: 'system', content: 'x' }],
      { results: results('b'), after: [user, { role: 'system', content: 'x' }], endsWithResults: false },
    ],
    [
      'counts all results when the request contains no calls',
      [user, result('a'), user, result('b')],
      { results: results('a', 'b'), after: [user], endsWithResults: true },
    ],
    [
      'finds none in a new turn',
      [user, { role: 'assistant', content: 'x' }, user],
      { results: [], after: [], endsWithResults: false },
    ],
  ])('%s', (_, messages, read) => {
    expect(readContinuation(messages)).toEqual(read);
  });

  it('identifies a continuation by its content, in any order', () => {
    expect(resultsDigest(results('a', 'b'))).toBe(resultsDigest(results('b', 'a', 'a')));
    expect(resultsDigest(results('a'))).not.toBe(resultsDigest(results('a', 'b')));
    expect(resultsDigest([{ id: 'a', content: '' }])).not.toBe(resultsDigest(results('a')));
  });
});

describe('checkContinuation', () => {
  const sound: ContinuationQuestion = {
    isBusy: false,
    pending: { models: ['auto', 'helper'], callIds: ['b', 'a'] },
    model: 'helper',
    continuation: { results: results('a', 'b'), after: [user], endsWithResults: false },
  };
  const continuationOf = (results: Continuation['results']): Continuation => ({
    results,
    after: [],
    endsWithResults: true,
  });
  const refusal = (change: Partial<ContinuationQuestion>): unknown => {
    try {
      checkContinuation({ ...sound, ...change });
    } catch (error) {
      if (!(error instanceof OpenAiError)) return error;
      return [error.status, error.message, error.param, error.code];
    }
    return 'accepted';
  };

  it('accepts one result for each pending call', () => {
    expect(checkContinuation(sound)).toEqual({ type: 'continue', results: results('b', 'a'), after: [user] });
    expect(checkContinuation({ ...sound, model: 'auto' }).type).toBe('continue');
    const twice = continuationOf([...results('a', 'b', 'a'), ...results('a')]);
    expect(checkContinuation({ ...sound, continuation: twice })).toMatchObject({ results: results('b', 'a') });
    const empty = continuationOf([
      { id: 'a', content: '' },
      { id: 'b', content: 'x'.repeat(262_144) },
    ]);
    expect(checkContinuation({ ...sound, continuation: empty }).type).toBe('continue');
  });

  it('treats a request without pending calls as a new turn', () => {
    const continuation = { results: results('x'), after: [user], endsWithResults: false };
    expect(checkContinuation({ ...sound, pending: null, continuation })).toEqual({ type: 'new' });
  });

  // Each breaks all rules that come later as well.
  const worst = continuationOf([
    { id: 'a', content: 'x'.repeat(300_000) },
    { id: 'a', content: 'y' },
    { id: 'z', content: '1' },
    { id: 'y', content: '1' },
    { id: 'y', content: '2' },
  ]);
  const other = { models: ['other'], callIds: ['c', 'b', 'a'] };
  const large = { id: 'a', content: 'x'.repeat(300_000) };
  const rules: readonly [Partial<ContinuationQuestion>, string, string?][] = [
    [
      { pending: other, continuation: worst },
      'Pending tool run belongs to a different model for this session',
      'model',
    ],
    [{ pending: null, continuation: worst }, 'No pending tool run exists for these tool results'],
    [
      { continuation: { results: [], after: [user], endsWithResults: false } },
      'Tool result messages are required to continue the paused run',
    ],
    [{ continuation: worst }, 'Duplicate tool results for tool_call_id(s): a, y'],
    [
      { pending: { ...other, models: ['helper'] }, continuation: continuationOf([...results('z'), large]) },
      'Missing tool results for tool_call_id(s): b, c',
    ],
    [
      { continuation: continuationOf([...results('z', 'y', 'b'), large]) },
      'Unknown tool_call_id(s) not in pending requirements: y, z',
    ],
    [
      { continuation: continuationOf([...results('b'), { id: 'a', content: 'é'.repeat(131_073) }]) },
      'Tool result for a exceeds 262144 bytes',
    ],
  ];
  it.each(rules)('reports the first problem: %#', (change, message, param = 'messages') => {
    expect(refusal(change)).toEqual([400, message, param, null]);
  });

  it('reports an active response of the session before any other problem', () => {
    const message = 'Another strict OpenAI stream is already active for this session';
    const refused = [409, message, 'x-session-id', 'session_busy'];
    expect(refusal({ isBusy: true, pending: other, continuation: worst })).toEqual(refused);
  });

  it('accepts or rejects any input without another error', () => {
    const id = fc.constantFrom('a', 'b', 'c');
    const given = fc.array(fc.record({ id, content: fc.constantFrom('', 'x') }), { maxLength: 5 });
    const pending = fc.option(
      fc.record({ models: fc.constant(['helper']), callIds: fc.uniqueArray(id, { minLength: 1 }) }),
      { nil: null },
    );
    fc.assert(
      fc.property(given, pending, fc.boolean(), (all, run, endsWithResults) => {
        const continuation = { results: all, after: [], endsWithResults };
        const refused = refusal({ pending: run, continuation });
        if (refused !== 'accepted') {
          expect(refused).toHaveLength(4);
          return;
        }
        const answer = checkContinuation({ ...sound, pending: run, continuation });
        if (answer.type === 'continue') expect(answer.results.map((each) => each.id)).toEqual(run?.callIds);
        else expect([run, endsWithResults]).toEqual([null, false]);
      }),
    );
  });
});
