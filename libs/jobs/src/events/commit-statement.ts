import type { JobFailure } from '../job.js';
import type { TerminalStatus } from '../job.lifecycle.js';
import {
  type CommitPart,
  type InsertionOf,
  partChecks,
  partClauses,
  partParameters,
  type PartRow,
  partsOf,
  quotedJson,
  statementName,
  toArrayText,
} from './commit-part.js';
import type { EventActions } from './event-actions.repository.js';
import { addsWebhooks, loggedColumns, webhookMessagesSql, webhooksSql } from './event-webhooks.part.js';
import { attemptAt, type NewJobEvent } from './job-event.js';
import { toLogRows } from './packed-events.js';

/** A status change that a write makes. */
export type JobMove =
  | {
      readonly to: TerminalStatus;
      readonly reason: string;
      readonly error?: JobFailure;
      /** For a sub-job: its parent, about which a queue message is sent. */
      readonly parentJobId?: string | null;
    }
  /** The write is refused if the job has more external updates than `externalUpdates`: its worker has not read the last one yet. */
  | { readonly to: 'waiting'; readonly externalUpdates: number }
  /**
   * The job is released: the claim does not count as an attempt, and the job's queue message is sent. `agentId`: the agent that was chosen; its
   * cap on running jobs counts the job from now on.
   */
  | { readonly to: 'queued'; readonly kind: string; readonly agentId?: string };

/** The changes of one job that are committed together. A job has at most one write in flight. */
export interface JobWrite {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly epoch: number;
  /** 1, 2, 3 … within the lease. */
  readonly number: number;
  /** How often shown text had been withdrawn before the first of `events`. Each `round-restarted` in `events` adds one. */
  readonly attempt: number;
  readonly events: readonly NewJobEvent[];
  readonly rows: readonly PartRow[];
  /** Refuses the write if a cancel is requested, so that no tool starts after the cancel was acknowledged. */
  readonly unlessCancelled: boolean;
  /** A round was committed: the job makes progress, so its attempts are counted from zero again. */
  readonly progress: boolean;
  readonly counts: JobCounts;
  readonly move?: JobMove;
}

/** The amounts that a write adds to the totals of the job row. */
export interface JobCounts {
  readonly rounds: number;
  readonly toolCalls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly restarts: number;
  /** UTF-16 units of text that the committed rounds added. */
  readonly contentLength: number;
  /** Whole ms spent on model requests that failed in an outage. They do not count as working time and move the deadline. */
  readonly outageMs: number;
}

export const noCounts: JobCounts = {
  rounds: 0,
  toolCalls: 0,
  promptTokens: 0,
  completionTokens: 0,
  restarts: 0,
  contentLength: 0,
  outageMs: 0,
};

/**
 * The fence and the log. `mine` locks the jobs in one fixed order, so two writers cannot deadlock. A job whose epoch, status or write
 * number does not match is dropped here, and its events and rows with it, because everything else joins `up`.
 */
const core = (unlessEndpoints: string) => `WITH want AS (
  SELECT * FROM json_to_recordset($1::json) AS w(write_index int, workspace_id uuid, job_id uuid, epoch int, number int,
    event_count int, refuse_if_cancelled bool, progress bool, next_status text, reason text, error jsonb, rounds int, calls int,
    prompt int, completion int, restarts int, content int, outage_ms int, expected_answers int, agent_id uuid, has_webhook_events bool)),
mine AS (
  SELECT w.* FROM want w JOIN job j ON j.workspace_id = w.workspace_id AND j.id = w.job_id
   WHERE j.lease_epoch = w.epoch AND j.status = 'running' AND j.lease_writes = w.number - 1
     AND NOT (w.refuse_if_cancelled AND j.cancel_requested_at IS NOT NULL)
     AND (w.expected_answers IS NULL OR j.answered = w.expected_answers)${unlessEndpoints}
   ORDER BY j.workspace_id, j.id FOR NO KEY UPDATE OF j),
up AS (
  UPDATE job j SET
      last_seq = j.last_seq + m.event_count, lease_writes = m.number,
      rounds = j.rounds + m.rounds, tool_calls = j.tool_calls + m.calls, restarts = j.restarts + m.restarts,
      content_length = j.content_length + m.content,
      prompt_tokens = j.prompt_tokens + m.prompt, completion_tokens = j.completion_tokens + m.completion,
      attempts = CASE WHEN m.progress OR m.next_status = 'waiting' THEN 0 WHEN m.next_status = 'queued' THEN greatest(j.attempts - 1, 0) ELSE j.attempts END,
      status = coalesce(m.next_status, j.status),
      reason = CASE WHEN m.next_status = 'cancelled' THEN coalesce(j.reason, m.reason) ELSE coalesce(m.reason, j.reason) END,
      error = coalesce(m.error, j.error),
      agent_id = coalesce(m.agent_id, j.agent_id),
      lease_owner = CASE WHEN m.next_status IS NULL THEN j.lease_owner END,
      lease_until = CASE WHEN m.next_status IS NULL THEN j.lease_until END,
      deadline_at = j.deadline_at + m.outage_ms * interval '1 ms',
      worked_ms = CASE WHEN m.next_status IS NULL THEN j.worked_ms
        ELSE greatest(j.worked_ms, $2::int - m.outage_ms - (extract(epoch FROM j.deadline_at - clock_timestamp()) * 1000)::int) END,
      key_cipher = CASE WHEN m.next_status IN ('completed', 'failed', 'cancelled') THEN NULL ELSE j.key_cipher END,
      finished_at = CASE WHEN m.next_status IN ('completed', 'failed', 'cancelled') THEN clock_timestamp() END
    FROM mine m
   WHERE j.workspace_id = m.workspace_id AND j.id = m.job_id AND j.lease_epoch = m.epoch AND j.status = 'running'
  RETURNING j.workspace_id, j.id, j.lease_epoch, j.thread_id, j.created_by, j.last_seq - m.event_count AS base, m.write_index),
logged AS (
  INSERT INTO job_event (workspace_id, job_id, seq, epoch, attempt, type, body, body_bytes, events, at)
  SELECT up.workspace_id, up.id, up.base + e.last_event, up.lease_epoch, e.attempt, e.type, e.body,
         octet_length(e.body::text), e.events, clock_timestamp()
    FROM unnest($3::int[], $4::int[], $5::int[], $6::text[], $7::jsonb[], $8::int[])
      AS e(write_index, last_event, attempt, type, body, events) JOIN up USING (write_index)`;

/** Drops a write whose events become webhooks. The repository writes it again with the statement that adds them. */
const unlessEndpoints = `
     AND NOT (w.has_webhook_events AND EXISTS (SELECT FROM webhook_endpoint e WHERE e.workspace_id = w.workspace_id AND e.enabled))`;
const withWebhooks = (insertionOf: InsertionOf) => `,
webhooks AS (${webhooksSql('logged')}),
webhook_messages AS (${insertionOf('webhook.deliver', webhookMessagesSql('webhooks'))})`;

/** The additions to the statement besides the parts. */
interface CommitAdditions {
  /** If false, writes whose events become webhooks are dropped, as if the fence refused them. */
  readonly addWebhooks: boolean;
  /** Null if the events trigger no actions. */
  readonly actions: EventActions | null;
}

function logSql({ addWebhooks, actions }: CommitAdditions, insertionOf: InsertionOf): string {
  if (!addWebhooks && actions === null) return `${core(unlessEndpoints)})`;
  const log = `${core(addWebhooks ? '' : unlessEndpoints)} RETURNING ${loggedColumns})`;
  const messages =
    actions === null
      ? ''
      : `,
action_messages AS (${insertionOf('hook.action', actions.messagesSql('logged'))})`;
  return `${log}${addWebhooks ? withWebhooks(insertionOf) : ''}${messages}`;
}

const firstPartParameter = 9;

interface Statement {
  readonly name: string;
  readonly text: string;
}

const statements = new Map<string, Statement>();

/**
 * The statement for the parts in `writes`. Few combinations exist; each is prepared once per connection. Most workspaces have no endpoint,
 * and the statement with webhooks adds 25 to 38 % to Postgres's CPU time for a short job (bench w1).
 */
export function commitStatement(
  writes: readonly JobWrite[],
  insertionOf: InsertionOf,
  additions: CommitAdditions,
): Statement {
  const parts = partsOf(writes.flatMap(({ rows }) => rows));
  const { addWebhooks, actions } = additions;
  const what = `commit${addWebhooks ? '-webhooks' : ''}${actions === null ? '' : `-actions-${actions.digest}`}`;
  const name = statementName(what, parts);
  const known = statements.get(name);
  if (known !== undefined) return known;
  const made = { name, text: compose(logSql(additions, insertionOf), parts, insertionOf) };
  statements.set(name, made);
  return made;
}

function compose(log: string, parts: readonly CommitPart<readonly unknown[]>[], insertionOf: InsertionOf): string {
  return `${log}${partClauses(parts, firstPartParameter, insertionOf)}
SELECT up.write_index AS "writeIndex", up.base, extract(epoch FROM clock_timestamp()) * 1000 AS at${partChecks(parts)} FROM up`;
}

/** Whether the events of a write become webhooks if the workspace has endpoints. */
export function hasWebhookEvents({ events }: JobWrite): boolean {
  return events.some(addsWebhooks);
}

/** The parameters of `commitStatement(writes)`. The statement computes the time worked from the deadline and `jobTimeoutMs`. */
export function toParameters(writes: readonly JobWrite[], jobTimeoutMs: number): unknown[] {
  const jobs = writes.map((write, i) => ({
    write_index: i,
    workspace_id: write.workspaceId,
    job_id: write.jobId,
    epoch: write.epoch,
    number: write.number,
    event_count: write.events.length,
    refuse_if_cancelled: write.unlessCancelled,
    progress: write.progress,
    ...toMove(write.move),
    rounds: write.counts.rounds,
    calls: write.counts.toolCalls,
    prompt: write.counts.promptTokens,
    completion: write.counts.completionTokens,
    restarts: write.counts.restarts,
    content: write.counts.contentLength,
    outage_ms: write.counts.outageMs,
    has_webhook_events: hasWebhookEvents(write),
  }));
  const rows = writes.flatMap((write) => write.rows);
  return [JSON.stringify(jobs), jobTimeoutMs, ...eventColumns(writes), ...partParameters(partsOf(rows), rows)];
}

/** The index of the body, the only JSON, in the columns of the log rows. */
const bodyColumn = 4;

/** Columns of the log rows: index of the write, position in the write, attempt, type, body and number of events. */
function eventColumns(writes: readonly JobWrite[]): string[] {
  const columns: (string | number)[][] = [[], [], [], [], [], []];
  writes.forEach((write, i) => {
    let place = 0;
    let { attempt } = write;
    for (const { type, body, events } of toLogRows(write.events)) {
      place += events;
      attempt = attemptAt(attempt, type);
      [i, place, attempt, type, JSON.stringify(body), events].forEach((value, k) => columns[k]?.push(value));
    }
  });
  return columns.map((column, k) => (k === bodyColumn ? toArrayText(column, quotedJson) : toArrayText(column)));
}

function toMove(move: JobMove | undefined): object {
  if (move === undefined) return {};
  if (move.to === 'queued') return { next_status: move.to, agent_id: move.agentId };
  if (move.to === 'waiting') return { next_status: move.to, expected_answers: move.externalUpdates };
  return { next_status: move.to, reason: move.reason, error: move.error };
}
