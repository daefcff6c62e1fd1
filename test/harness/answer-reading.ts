import type { JobEvent } from '#jobs';

import type { AnswerPart } from '../../apps/api/src/openai/answer/answer-part.js';
import { AnswerReader, type AnswerTerms } from '../../apps/api/src/openai/answer/answer-reader.js';
import type { ViewedItem } from '../../apps/api/src/streams/viewed-item.js';
import { asLog, buildStory, completed, snapshotAfter, type StoryCall, type StoryRound } from './answer-stories.js';

/** The first answer of a chat, with nothing to hide. */
export const plainTerms: AnswerTerms = {
  format: 'inline',
  kind: 'chat',
  afterRound: 0,
  catchUpTo: 0,
  secrets: { sensitiveFieldsOf: () => [], redact: (text) => text, redactCut: (text) => text },
};

export const eventsOf = (events: readonly JobEvent[]): ViewedItem => ({ type: 'events', events });
/** One item for each event. */
export const oneByOne = (events: readonly JobEvent[]): readonly ViewedItem[] =>
  events.map((event) => eventsOf([event]));
/** The snapshot that a viewer receives who joins after these events. */
export const snapshotOf = (events: readonly JobEvent[]): ViewedItem => {
  return { type: 'snapshot', snapshot: snapshotAfter(events), reset: false };
};

/** The parts of one item, without a pause between its steps. */
export function takeItem(reader: AnswerReader, item: ViewedItem): readonly AnswerPart[] {
  const steps = reader.take(item);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

export function readAnswer(items: readonly ViewedItem[], terms: Partial<AnswerTerms> = {}): readonly AnswerPart[] {
  const reader = new AnswerReader({ ...plainTerms, ...terms });
  return items.flatMap((item) => takeItem(reader, item));
}

export function contentOf(parts: readonly AnswerPart[]): string {
  return parts.map((part) => (part.type === 'content' ? part.text : '')).join('');
}

export const textRound = (...pieces: string[]): StoryRound => ({ attempts: [pieces], calls: [] });
export const asks = (text: string, ...calls: StoryCall[]): StoryRound => ({ attempts: [[text]], calls });
/** The log of a job that goes well. */
export const story = (...rounds: StoryRound[]): readonly JobEvent[] => asLog([...buildStory(rounds), completed]);
export const weather: StoryCall = {
  id: 'call_1',
  name: 'weather',
  args: '{"city":"Paris","days":2}',
  statuses: ['running', 'completed'],
  result: 'Sunny',
};

export const usageOf = (rounds: number) => ({
  promptTokens: 10 * rounds,
  completionTokens: 5 * rounds,
  estimated: false,
});
export const stopAfter = (rounds = 1) => ({ type: 'end', finishReason: 'stop', usage: usageOf(rounds), error: null });
