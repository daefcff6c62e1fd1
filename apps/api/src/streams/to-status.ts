import { z } from 'zod';

import type { JobLabels, JobSnapshot, JobStatus, SnapshotCall, ToolCallItem } from '#jobs';
import { toWireStatus, type WireStatus } from '#jobs/api';
import { defined } from '#platform';
import { type ToolCallStatus, toToolCallItem, toWireCall } from '#tools';
import type { WorkflowState } from '#workflows';

/** The text that a reader reports to have; absent: none, or an invalid number. */
export interface StatusQuery {
  readonly offset?: number;
  readonly reasoningOffset?: number;
  readonly attempt?: number;
}

/** A call in a status, with the round that requested it and, after its end, how long it ran. */
export interface StatusCall extends ToolCallItem {
  readonly round: number;
  readonly durationMs?: number;
}

/** A job on the wire, without its texts and the state of its workflow. */
export interface StatusHead {
  readonly id: string;
  readonly status: WireStatus;
  readonly job_status: JobStatus;
  readonly threadId: string | null;
  readonly messageId: string | null;
  /** For a chat of another system: the user of the chat, by the id that they have in that system. */
  readonly externalUserId?: string;
  readonly model: string;
  readonly kind: string;
  readonly labels: JobLabels;
  /** How often the job's log has grown; never decreases. */
  readonly chunksReceived: number;
  readonly attempt: number;
  readonly seq: number;
  readonly startedAt: number;
  readonly completedAt: number | null;
  readonly error: string | null;
  /** For a failed job: the stable code of `error`, such as `deadline` or `model_connection_refused`. */
  readonly code: string | null;
  /** For a failed job: whether a retry of the same job may succeed. */
  readonly retryable: boolean | null;
  /** Committed rounds. */
  readonly rounds: number;
  /** Time from acceptance to the end, in ms; null before the end. */
  readonly durationMs: number | null;
  readonly tool_calls: readonly StatusCall[];
  readonly content_length: number;
  readonly reasoning_length: number;
}

/** The texts, or the parts of them that the reader lacks. */
export interface StatusTexts {
  readonly content?: string;
  readonly content_delta?: string;
  readonly content_reset?: true;
  readonly reasoning?: string;
  readonly reasoning_delta?: string;
  readonly reasoning_reset?: true;
}

export type StatusReply = StatusHead & StatusTexts & { readonly workflow_state: WorkflowState | null };

/** The options of `toStatus`. */
export interface StatusTerms {
  /** The text that the reader has; absent: none. */
  readonly query?: StatusQuery;
  /** The state of a workflow job; absent or null: the job runs no workflow. */
  readonly state?: WorkflowState | null;
}

/** A whole number from 0; anything else counts as not sent. */
const wholeNumber = (description: string) =>
  z
    .preprocess(
      (value) => (typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined),
      z.number().min(0).optional(),
    )
    .optional()
    .meta({ description, type: 'integer' });

/** `?offset`, `?reasoning_offset` and `?attempt`. */
export const statusQuery = z
  .object({
    offset: wholeNumber('UTF-16 code units of content that the client has.'),
    reasoning_offset: wholeNumber('The same for reasoning.'),
    attempt: wholeNumber('The `attempt` that the offset was counted in.'),
  })
  .transform(({ offset, reasoning_offset: reasoningOffset, attempt }): StatusQuery => ({
    ...defined({ offset, reasoningOffset, attempt }),
  }));

/** A snapshot in the format of the status endpoint. Pure. */
export function toStatus(snapshot: JobSnapshot, { query = {}, state = null }: StatusTerms = {}): StatusReply {
  const { attempt } = snapshot;
  const content = missingPart(snapshot.content, { attempt, has: query.offset, hasAttempt: query.attempt });
  const reasoning = missingPart(snapshot.reasoning, { attempt, has: query.reasoningOffset, hasAttempt: query.attempt });
  return {
    ...toStatusHead(snapshot),
    workflow_state: state,
    ...defined({
      content: content.full,
      content_delta: content.delta,
      content_reset: content.reset,
      reasoning: reasoning.full,
      reasoning_delta: reasoning.delta,
      reasoning_reset: reasoning.reset,
    }),
  };
}

export function toStatusHead(snapshot: JobSnapshot): StatusHead {
  return {
    id: snapshot.jobId,
    status: toWireStatus(snapshot.status),
    job_status: snapshot.status,
    threadId: snapshot.threadId,
    messageId: snapshot.messageId,
    ...(snapshot.externalUserId == null ? {} : { externalUserId: snapshot.externalUserId }),
    model: snapshot.model,
    kind: snapshot.kind,
    labels: snapshot.labels,
    chunksReceived: snapshot.seq,
    attempt: snapshot.attempt,
    seq: snapshot.seq,
    startedAt: snapshot.startedAt,
    completedAt: snapshot.completedAt,
    error: snapshot.status === 'failed' ? (snapshot.error?.message ?? 'Job failed') : null,
    code: snapshot.status === 'failed' ? (snapshot.error?.code ?? 'internal') : null,
    retryable: snapshot.status === 'failed' ? (snapshot.error?.retryable ?? false) : null,
    rounds: snapshot.roundCount,
    durationMs:
      snapshot.completedAt === null ? null : Math.max(0, Math.round(snapshot.completedAt - snapshot.startedAt)),
    tool_calls: snapshot.calls.map(toStatusCall),
    content_length: snapshot.content.length,
    reasoning_length: snapshot.reasoning.length,
  };
}

/** A call of the ledger as the wire shows it. */
function toStatusCall(call: SnapshotCall): StatusCall {
  const status = call.status as ToolCallStatus; // the table's CHECK allows no other
  const { round, durationMs } = call;
  const item = toWireCall(toToolCallItem({ ...call, status }));
  return { ...item, round, ...(durationMs == null ? {} : { durationMs }) };
}

interface Had {
  readonly attempt: number;
  readonly has: number | undefined;
  readonly hasAttempt: number | undefined;
}

interface Part {
  readonly full?: string;
  readonly delta?: string;
  readonly reset?: true;
}

/** A new client gets the whole text. A client with a valid prefix gets the rest. Any other client gets the whole text again, as a reset. */
function missingPart(text: string, { attempt, has, hasAttempt }: Had): Part {
  if (has === undefined) return { full: text };
  const isOtherAttempt = hasAttempt !== undefined && hasAttempt !== attempt && has > 0;
  // A prefix that ends within a surrogate pair was miscounted; the client would keep the broken half.
  if (isOtherAttempt || has > text.length || isInsidePair(text, has)) return { full: text, reset: true };
  return { delta: text.slice(has) };
}

function isInsidePair(text: string, at: number): boolean {
  return at > 0 && at < text.length && isSurrogate(text, at - 1, 0xd800) && isSurrogate(text, at, 0xdc00);
}

function isSurrogate(text: string, at: number, first: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= first && unit < first + 0x400;
}
