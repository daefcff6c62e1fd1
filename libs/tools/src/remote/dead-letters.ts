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
 * Why a dead letter exists. For a message: it cannot be parsed (`unreadable`), its call does not exist (`unknown_call`), or it could not be
 * applied (`not_applied`). For a call without a message: no worker claimed it in time (`not_taken`), or its processes were lost repeatedly
 * (`attempts`).
 */
export const deadReasons = ['unreadable', 'unknown_call', 'not_applied', 'not_taken', 'attempts'] as const;
export type DeadReason = (typeof deadReasons)[number];

/** A dead letter that this server sent itself. It has no handler: operators read it. */
interface DeadLetter {
  readonly type: 'dead_letter';
  readonly reason: DeadReason;
  /** Null: the message had no valid id in this field. */
  readonly workspace_id: string | null;
  readonly job_id: string | null;
  readonly correlation_id: string | null;
  readonly timestamp: number;
  /** The original message, if it exists and is not too large. */
  readonly message: unknown;
}

/** The public part of a dead letter. */
export interface StoredLetter {
  readonly id: string;
  /** Its position in the list, a uuid that sorts by age. The position stays valid after the letter is removed. */
  readonly place: string;
  readonly reason: DeadReason;
  /** Ms since the epoch. */
  readonly at: number;
  readonly jobId: string | null;
  readonly toolCallId: string | null;
}

/** A call that the queue gave up. */
export interface GivenUp {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly id: string;
  readonly reason: DeadReason;
}

const largestKeptBytes = 65_536;

/**
 * Dead letters of the tool queue. pg-boss moves results there that cannot be applied; this server sends the others. No database
 * policy guards their contents, so members see only the ids of the affected calls.
 */
@Injectable()
export class DeadLetters {
  constructor(private readonly queues: Queues) {}

  /** Keeps a message for diagnosis. */
  async store(message: unknown, reason: DeadReason): Promise<void> {
    await this.send(null, toDeadLetter(message, reason));
  }

  /** Records that a call was given up, in the transaction that ends it. */
  async note(tx: PrismaTransaction, { workspaceId, jobId, id, reason }: GivenUp): Promise<void> {
    const about = { workspace_id: workspaceId, job_id: jobId, correlation_id: id };
    await this.send(tx, { ...toDeadLetter(about, reason), message: null });
  }

  /** Newest first. May return one dead letter more than `first`. `after` is a position. */
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

/** Extracts the ids in a message. None of them is trusted. */
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

/** A message that pg-boss moved contains the reason of its handler, or the last error of the handler. */
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
