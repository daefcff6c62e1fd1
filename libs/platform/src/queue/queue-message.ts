import type { GroupConcurrencyConfig, Job, JobInsert } from 'pg-boss';

import { defined } from '../defined.js';
import type { QueueData, QueueName } from '../postgres/queue-list.js';

/** A message to send. */
export interface QueueMessage<Name extends QueueName = QueueName> {
  readonly data: QueueData[Name];
  /** A uuid. A message is not sent while another one with its id is stored. */
  readonly id?: string;
  /** Not delivered before this instant (ms since the epoch). */
  readonly startAfter?: number;
  /** Not delivered before this time (ms) has passed, by the database's clock. */
  readonly afterMs?: number;
  /** Higher is delivered first. Default 0. */
  readonly priority?: number;
  /** What messages are found by. */
  readonly key?: string;
  /** Messages of one group may be limited together: `HandleOptions.groupConcurrency`. */
  readonly group?: { readonly id: string; readonly tier?: string };
}

/** A message with its queue. */
export type AddressedMessage = {
  [Name in QueueName]: QueueMessage<Name> & { readonly queue: Name };
}[QueueName];

/** How the messages of a queue are fetched. */
export interface HandleOptions {
  /** Maximum number of messages that the handler gets at once. Default 1. */
  readonly batchSize?: number;
  /** How often the queue is asked while it is empty. Default 1 s. */
  readonly pollSeconds?: number;
  /** Messages of one group that are handled at once in the whole installation: by the group's tier, else the default. */
  readonly groupConcurrency?: GroupConcurrencyConfig;
  /** Only messages with at least this priority. */
  readonly minPriority?: number;
  /**
   * For `handleEach`: messages of a batch with the same sequence are handled one after another, different sequences in parallel. Default: one
   * sequence.
   */
  readonly sequenceOf?: (message: Delivery) => string;
}

/** A message and the attempt that its handler holds: pg-boss settles no other attempt with it. */
export interface Delivery<Name extends QueueName = QueueName> {
  readonly id: string;
  readonly data: QueueData[Name];
  readonly retryCount: number;
  readonly groupId: string | null;
}

/** A stored message. */
export interface StoredMessage<Name extends QueueName = QueueName> {
  readonly id: string;
  readonly data: QueueData[Name];
  readonly state: 'created' | 'retry' | 'active' | 'completed' | 'cancelled' | 'failed';
  readonly createdOn: Date;
  readonly startedOn: Date | null;
  /** Of a dead letter: what its handler gave as the reason, or threw. */
  readonly sourceOutput: object | null;
}

/** How a message was handled: it is completed, was given back before, or moves to the dead letter queue for this reason. */
export type Handled = 'completed' | 'given-back' | { readonly deadLetter: string };

/** A handler at work. */
export interface QueueHandler {
  /** Fetches now instead of at the next poll. */
  wake(): void;
  /** Fetches no more; resolves when the handler has returned. */
  stop(): Promise<void>;
}

export function toDelivery<Data>({ id, data, retryCount, groupId = null }: Job<Data>) {
  return { id, data, retryCount, groupId };
}

export const attemptOf = ({ id, retryCount }: Delivery) => ({ id, retryCount });

type AnyMessage = Omit<QueueMessage, 'data'> & { readonly data: object | null };

export function toInsert({ data, startAfter, afterMs, key, ...message }: AnyMessage): JobInsert {
  return {
    ...message,
    ...(data === null ? {} : { data }),
    ...(startAfter === undefined ? {} : { startAfter: new Date(startAfter) }),
    ...(afterMs === undefined ? {} : { startAfter: afterMs / 1_000 }),
    ...defined({ singletonKey: key }),
  };
}
