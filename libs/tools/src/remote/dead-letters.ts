import { Injectable } from '@nestjs/common';

import {
  idFrom,
  isId,
  type PageRequest,
  type PrismaTransaction,
  Queues,
  type StoredMessage,
  systemClock,
  TOOL_QUEUES,
} from '#platform';

/**
 * Why a message is a dead letter: it cannot be read, its call is not known, it could not be applied; or there is none, but no worker
 * claimed the call in time, or its processes were lost again and again.
 */
export const deadReasons = ['unreadable', 'unknown_call', 'not_applied', 'not_taken', 'attempts'] as const;
export type DeadReason = (typeof deadReasons)[number];

/** A dead letter that was sent as such. For diagnosis: it has no handler. */
interface DeadLetter {
  readonly type: 'dead_letter';
  readonly reason: DeadReason;
  /** Null: the message did not contain it, or not as an id. */
  readonly workspace_id: string | null;
  readonly job_id: string | null;
  readonly correlation_id: string | null;
  readonly timestamp: number;
  /** The message itself, if there was one and it is not too large. */
  readonly message: unknown;
}

/** What a dead letter is about. */
export interface StoredLetter {
  readonly id: string;
  /** Its place in the list, a uuid that sorts by age. It stays valid when the letter is removed. */
  readonly place: string;
  readonly reason: DeadReason;
  /** Ms since the epoch. */
  readonly at: number;
  readonly jobId: string | null;
  readonly toolCallId: string | null;
}

/** Which call a worker gave up. */
export interface GivenUp {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly id: string;
  readonly reason: DeadReason;
}

const largestKeptBytes = 65_536;

/**
 * Dead letters of the isolated tool queue. pg-boss moves results there that cannot be applied; the others are sent. No policy of the
 * database guards their contents, so members see only which calls they are about.
 */
@Injectable()
export class DeadLetters {
  constructor(private readonly queues: Queues) {}

  /** Keeps a message for diagnosis. */
  async bury(message: unknown, reason: DeadReason): Promise<void> {
    await this.send(null, toDeadLetter(message, reason));
  }

  /** Notes that a call was given up, in the transaction that ends it. */
  async note(tx: PrismaTransaction, { workspaceId, jobId, id, reason }: GivenUp): Promise<void> {
    const about = { workspace_id: workspaceId, job_id: jobId, correlation_id: id };
    await this.send(tx, { ...toDeadLetter(about, reason), message: null });
  }

  /** Newest first; one more than `first` may come back. `after` is a place. */
  async list(workspaceId: string, { first, after }: PageRequest): Promise<StoredLetter[]> {
    const found = await this.queues.find(TOOL_QUEUES.dead, { key: workspaceId });
    const older = found.map(toStoredLetter).filter(({ place }) => after === undefined || place < after.toLowerCase());
    return older.toSorted((a, b) => (a.place < b.place ? 1 : -1)).slice(0, first + 1);
  }

  async find(workspaceId: string, id: string): Promise<StoredLetter | null> {
    const [found] = await this.queues.find(TOOL_QUEUES.dead, { key: workspaceId, id });
    return found === undefined ? null : toStoredLetter(found);
  }

  async remove(id: string): Promise<void> {
    await this.queues.remove(TOOL_QUEUES.dead, id);
  }

  private async send(tx: PrismaTransaction | null, letter: DeadLetter): Promise<void> {
    const key = letter.workspace_id === null ? {} : { key: letter.workspace_id };
    await this.queues.send(tx, TOOL_QUEUES.dead, [{ data: letter, ...key }]);
  }
}

/** Extracts the fields that a message has about itself; none of them is trusted. */
export function toDeadLetter(message: unknown, reason: DeadReason): DeadLetter {
  const fields = fieldsOf(message);
  const idOf = (name: string) => {
    const value = fields[name];
    return typeof value === 'string' && isId(value) ? value : null;
  };
  const bytes = Buffer.byteLength(JSON.stringify(message ?? null));
  return {
    type: 'dead_letter',
    reason,
    workspace_id: idOf('workspace_id'),
    job_id: idOf('job_id'),
    correlation_id: idOf('correlation_id'),
    timestamp: systemClock.now(),
    message: bytes <= largestKeptBytes ? message : { _omitted: true, bytes },
  };
}

/** A message that pg-boss moved has the reason of its handler beside it, or what the handler threw last. */
function toStoredLetter({ id, data, createdOn, sourceOutput }: StoredMessage): StoredLetter {
  const sent = fieldsOf(data);
  const stated = sent['type'] === 'dead_letter' ? sent['reason'] : fieldsOf(sourceOutput)['reason'];
  const reason = deadReasons.find((known) => known === stated) ?? 'not_applied';
  const { job_id: jobId, correlation_id: toolCallId } = toDeadLetter(data, reason);
  return { id, place: placeOf(id, Number(createdOn)), reason, at: Number(createdOn), jobId, toolCallId };
}

function placeOf(id: string, at: number): string {
  const hex = at.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}${idFrom(id).slice(13)}`;
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}; // an object has members
}
