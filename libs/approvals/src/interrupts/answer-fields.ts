import type { DecidedKind, InterruptAnswer } from './interrupt-deciders.js';
import { invalidField } from './interrupts.errors.js';

type AnswerField = keyof InterruptAnswer;

interface AnswerFields {
  /** The field that holds the decision or action. */
  readonly word: 'decision' | 'action';
  /** Fields allowed with every decision. */
  readonly always: readonly AnswerField[];
  /** Fields allowed with one decision. */
  readonly only: Readonly<Partial<Record<AnswerField, string>>>;
}

const answerFields: Readonly<Record<DecidedKind, AnswerFields>> = {
  tool_approval: {
    word: 'decision',
    always: ['argumentsHash', 'reason'],
    only: { arguments: 'approve', grantMinutes: 'approve' },
  },
  human_input: { word: 'action', always: ['data', 'reason'], only: {} },
  wait: { word: 'action', always: ['data', 'reason'], only: {} },
  unknown_outcome: { word: 'decision', always: ['reason'], only: { result: 'happened' } },
  provider_unavailable: { word: 'decision', always: ['reason'], only: {} },
};

/**
 * Throws `bad_request`, naming the field, when an answer has a field that its kind or its decision does not take: ignoring it would
 * settle the request differently from what was sent. `issues` lists the fields it takes. A missing decision or action is left to the
 * decider of the kind.
 */
export function assertAnswerFields(kind: DecidedKind, answer: InterruptAnswer): void {
  const { word, always, only } = answerFields[kind];
  const decided = answer[word];
  if (decided === undefined) return;
  const own = Object.entries(only).filter(([, needed]) => needed === decided);
  const takes: readonly string[] = [word, ...always, ...own.map(([field]) => field)];
  const extra = Object.keys(answer).find((field) => !takes.includes(field));
  if (extra === undefined) return;
  const about = extra in only ? `${word} ${decided}` : `an answer to ${kind}`;
  throw invalidField(extra, `${extra} is not a field of ${about}`, takes);
}
