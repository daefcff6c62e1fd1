import type { ChatMessage } from '#models';
import { type LedgerCall, modelTextOf } from '#tools';

import { interruptedTurn } from './interrupted-turn.js';
import { receiptOf } from './receipt-of.js';
import { repairConversation } from './repair-conversation.js';
import { roundMessages } from './round-messages.js';
import { toChatMessage } from './to-chat-message.js';

/** A row of a thread. */
export interface HistoryMessage {
  readonly position: number;
  readonly role: string;
  /** As the client sent it; null for the message of a job, whose rounds contain the text. */
  readonly content: unknown;
  readonly jobId: string | null;
  /**
   * The client sent the message to a running job, with the results of a round; the message follows that round. Absent: the message belongs to
   * no round.
   */
  readonly sentTo?: { readonly jobId: string; readonly afterRound: number } | null;
}

/** The rounds and calls that a job has written to a thread. */
export interface HistoryJob {
  /** The job's status; any other than `completed` means an interrupted turn. */
  readonly status: string;
  readonly rounds: readonly HistoryRound[];
  readonly calls: readonly LedgerCall[];
}

export interface HistoryRound {
  readonly number: number;
  readonly text: string;
  /** Shown text of a round that never finished. */
  readonly partial: boolean;
}

/**
 * The conversation of a thread in the form that a provider accepts, in the order of positions. The message of a job is replaced by the job's
 * rounds, their calls and exactly one result for each call, also for an open call. If a job did not complete, a message that states so
 * follows. A message that was sent to a running job follows its round. Messages of jobs that are not in `jobs` are left out (the loop gets
 * the rounds of the current job instead). Pure.
 */
export function buildHistory(
  messages: readonly HistoryMessage[],
  jobs: ReadonlyMap<string, HistoryJob>,
): readonly ChatMessage[] {
  const rows = messages.toSorted((a, b) => a.position - b.position);
  const expanded = new Set(rows.flatMap((row) => (isAnswer(row) && jobs.has(row.jobId) ? [row.jobId] : [])));
  const within = Map.groupBy(rows, ({ sentTo }) =>
    sentTo != null && expanded.has(sentTo.jobId) ? sentTo.jobId : null,
  );
  const others = within.get(null) ?? [];
  return repairConversation(
    others.flatMap((row) => {
      if (!isAnswer(row)) return plainMessages(row);
      const job = jobs.get(row.jobId);
      return job === undefined ? [] : jobMessages(job, within.get(row.jobId) ?? []);
    }),
  );
}

function isAnswer(row: HistoryMessage): row is HistoryMessage & { readonly jobId: string } {
  return row.role === 'assistant' && row.jobId !== null && row.content === null;
}

function plainMessages({ role, content }: HistoryMessage): readonly ChatMessage[] {
  const message = toChatMessage(role, content);
  return message === null ? [] : [message];
}

function jobMessages(job: HistoryJob, within: readonly HistoryMessage[]): readonly ChatMessage[] {
  const rounds = job.rounds.toSorted((a, b) => a.number - b.number);
  const calls = job.calls.toSorted((a, b) => a.round - b.round || a.ordinal - b.ordinal);
  const sentAfter = ({ number }: HistoryRound) => within.filter(({ sentTo }) => sentTo?.afterRound === number);
  const messages = rounds
    .filter((round) => !round.partial)
    .flatMap((round) => [...roundMessages(answered(round, calls)), ...sentAfter(round).flatMap(plainMessages)]);
  if (job.status === 'completed') return messages;
  const partial = rounds.filter((round) => round.partial).map((round) => round.text);
  return [...messages, { role: 'assistant', content: interruptedTurn(partial.join(''), calls) }];
}

function answered(round: HistoryRound, calls: readonly LedgerCall[]): Parameters<typeof roundMessages>[0] {
  const own = calls.filter((call) => call.round === round.number);
  return { text: round.text, calls: own.map((call) => ({ ...call, text: modelTextOf(call), ...receiptOf(call) })) };
}
