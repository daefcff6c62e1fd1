import { defined } from '../defined.js';
import type { BusMessages, BusTopic } from './bus.js';

/** One message with its topic. */
export type Hint = { [T in BusTopic]: { readonly topic: T; readonly message: BusMessages[T] } }[BusTopic];

const MAX_PENDING = 10_000;

/**
 * Pending hints, oldest first. `job-events` of one job are merged: the result has the highest `seq`, and the status of the newest message
 * with a status. Beyond 10,000, the oldest are dropped; their readers then find the change at the next poll.
 */
export class PendingHints {
  private readonly entries = new Map<string, Entry>();
  private order = 0;

  add(hint: Hint): void {
    if (hint.topic === 'job-events') this.merge(hint.message);
    else this.entries.set(String(this.order++), { hint, statusSeq: 0 });
    if (this.entries.size <= MAX_PENDING) return;
    const oldest = this.entries.keys().next();
    if (oldest.done !== true) this.entries.delete(oldest.value);
  }

  take(): Hint[] {
    const all = [...this.entries.values()].map(({ hint }) => hint);
    this.entries.clear();
    return all;
  }

  get size(): number {
    return this.entries.size;
  }

  private merge(message: BusMessages['job-events']): void {
    const key = `${message.workspaceId}${message.jobId}`;
    const before = this.entries.get(key);
    if (before?.hint.topic !== 'job-events') {
      this.entries.set(key, { hint: { topic: 'job-events', message }, statusSeq: message.seq });
      return;
    }
    const old = before.hint.message;
    const newer = message.status !== undefined && (old.status === undefined || message.seq >= before.statusSeq);
    const [status, statusSeq] = newer ? [message.status, message.seq] : [old.status, before.statusSeq];
    const merged = { ...message, seq: Math.max(old.seq, message.seq), ...defined({ status }) };
    this.entries.set(key, { hint: { topic: 'job-events', message: merged }, statusSeq });
  }
}

interface Entry {
  readonly hint: Hint;
  /** The `seq` of the message with the status: hints of two connections may arrive out of order. */
  readonly statusSeq: number;
}

/** Pairs a topic with its message. */
export function toHint<T extends BusTopic>(topic: T, message: BusMessages[T]): Hint {
  return { topic, message } as Hint; // T ties the two together; TypeScript cannot see it through the union
}
