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
  /** As it came from outside; null for the message of a job, whose text is that of its rounds. */
  readonly content: unknown;
  readonly jobId: string | null;
}

/** What a job wrote into a thread. */
export interface HistoryJob {
  /** The job's status; anything but `completed` is an interrupted turn. */
  readonly status: string;
  readonly rounds: readonly HistoryRound[];
  readonly calls: readonly LedgerCall[];
}

export interface HistoryRound {
  readonly number: number;
  readonly text: string;
  /** True for what was shown of a round that was never finished. */
  readonly partial: boolean;
}

/**
 * The conversation of a thread as a provider accepts it, in the order of positions. A job's message unfolds into its rounds,
 * their calls and exactly one result for each, whatever became of it; a job that did not complete is closed by a message that says
 * so. Messages of jobs that `jobs` does not hold are left out (the current job gives its rounds to the loop instead). Pure.
 */
export function buildHistory(
  messages: readonly HistoryMessage[],
  jobs: ReadonlyMap<string, HistoryJob>,
): readonly ChatMessage[] {
  const rows = messages.toSorted((a, b) => a.position - b.position);
  return repairConversation(rows.flatMap((row) => messagesOf(row, jobs)));
}

function messagesOf(row: HistoryMessage, jobs: ReadonlyMap<string, HistoryJob>): readonly ChatMessage[] {
  if (row.role === 'assistant' && row.jobId !== null && row.content === null) {
    const job = jobs.get(row.jobId);
    return job === undefined ? [] : jobMessages(job);
  }
  const message = toChatMessage(row.role, row.content);
  return message === null ? [] : [message];
}

function jobMessages(job: HistoryJob): readonly ChatMessage[] {
  const rounds = job.rounds.toSorted((a, b) => a.number - b.number);
  const calls = job.calls.toSorted((a, b) => a.round - b.round || a.ordinal - b.ordinal);
  const said = rounds.filter((round) => !round.partial).flatMap((round) => roundMessages(answered(round, calls)));
  if (job.status === 'completed') return said;
  const partial = rounds.filter((round) => round.partial).map((round) => round.text);
  return [...said, { role: 'assistant', content: interruptedTurn(partial.join(''), calls) }];
}

function answered(round: HistoryRound, calls: readonly LedgerCall[]): Parameters<typeof roundMessages>[0] {
  const own = calls.filter((call) => call.round === round.number);
  return { text: round.text, calls: own.map((call) => ({ ...call, text: modelTextOf(call), ...receiptOf(call) })) };
}
