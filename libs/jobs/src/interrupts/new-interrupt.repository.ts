import { type AddressedMessage, idFrom, Prisma, type PrismaTransaction, systemClock } from '#platform';

import { type CommitPart, type PartRow, partRow } from '../events/commit-part.js';
import type { NewJobEvent } from '../events/job-event.js';
import { type NewInterrupt, personKinds } from '../interrupt.js';
import type { JobRef } from '../job.js';
import { notifyOfRequestsSql } from '../notifications/new-notification.part.js';

type Row = readonly [workspaceId: string, jobId: string, id: string, body: object];

/** The first reminder of a request to a person is sent after a day, then one every day. */
const remindAfter = `interval '1 day'`;
const remindAfterMs = 86_400_000;
const isToPerson = `b.kind IN (${personKinds.map((kind) => `'${kind}'`).join(', ')})`;

/** The job must not wait for a person: its own input or that of its root job contains `humanWait: 'reject'`. */
const isRefused = `CASE WHEN ${isToPerson} THEN coalesce(coalesce(root.input, j.input)->>'humanWait' = 'reject', false) ELSE false END`;

const columns = `workspace_id, job_id, id, kind, title, request, tool_call_id, call_id, tool, node_id, path, thread_id, root_job_id,
    requester, decidable_by, four_eyes, admin_required, principal, device_id, expire_action, expires_at, remind_at, refused,
    created_at`;

/**
 * Reads a request from its JSON; `r` has workspace_id, job_id, id and body. A request of a sub-job gets the root job and its thread here,
 * so that the code that opens a request need not know the root.
 */
const values = `r.workspace_id, r.job_id, r.id, b.kind, b.title, b.request, b."toolCallId", b."callId", b.tool, b."nodeId",
    coalesce(b.path, '{}'), coalesce(b."threadId", root.thread_id), j.root_job_id, b.requester, coalesce(b."decidableBy", 'requester'),
    coalesce(b."fourEyes", false), coalesce(b."adminRequired", false), b.principal, b."deviceId",
    coalesce(b."expireAction", 'deny'), to_timestamp(b."expiresAt" / 1000),
    CASE WHEN ${isToPerson} THEN clock_timestamp() + ${remindAfter} END, ${isRefused}, clock_timestamp()`;

const fields = `b(kind text, title text, request jsonb, "toolCallId" uuid, "callId" text, tool text, "nodeId" text, path text[],
    "threadId" uuid, requester uuid, "decidableBy" text, "fourEyes" bool, "adminRequired" bool, principal text,
    "deviceId" text, "expireAction" text, "expiresAt" float8)`;

/** A sub-job acts for the user who started its root, so both have the same requester. */
const ofJob = `JOIN job j ON j.workspace_id = r.workspace_id AND j.id = r.job_id
  LEFT JOIN job root ON root.workspace_id = j.workspace_id AND root.id = j.root_job_id`;

/** The columns that a notification and the first queue message are built from. */
const inserted = 'workspace_id, id, job_id, kind, refused, expires_at, remind_at';

const opened: CommitPart<Row> = {
  name: 'opened_interrupts',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['id', 'uuid'],
    ['body', 'json'],
  ],
  sql: (rows) => `INSERT INTO interrupt (${columns})
  SELECT ${values} FROM ${rows} r ${ofJob},
    json_to_record(r.body) AS ${fields} RETURNING ${inserted}`,
  opensInterrupts: true,
  beside: (_rows, written) => ({ name: 'notified_requests', sql: notifyOfRequestsSql(written) }),
};

/** The job whose run opens an interrupt. */
export interface OpeningJob extends JobRef {
  readonly parentJobId: string | null;
  readonly input: unknown;
}

/**
 * The row of a request that a worker opens. It is committed together with the rows that it refers to, before any viewer sees it, and with the
 * queue message for its first reminder or its expiry.
 */
export function openInterruptRow(job: OpeningJob, interrupt: NewInterrupt): PartRow {
  const { workspaceId, jobId } = job;
  const { id, ...body } = interrupt;
  const at = firstInstant(job, interrupt);
  const row = partRow(opened, [workspaceId, jobId, id, body]);
  return at === null ? row : { ...row, message: interruptDue({ workspaceId, jobId, id }, at) };
}

/** Opens a request without a lease, under the lock of the job's row. Returns the queue messages to send in the same transaction. */
export async function insertInterrupt(
  tx: PrismaTransaction,
  job: JobRef,
  interrupt: NewInterrupt,
): Promise<AddressedMessage[]> {
  const { workspaceId, jobId } = job;
  const { id, ...body } = interrupt;
  const rows = await tx.$queryRaw<{ at: number | null }[]>`
    WITH opened AS (INSERT INTO interrupt (${Prisma.raw(columns)}) SELECT ${Prisma.raw(values)}
       FROM (SELECT ${workspaceId}::uuid AS workspace_id, ${jobId}::uuid AS job_id, ${id}::uuid AS id,
                    ${JSON.stringify(body)}::json AS body) r ${Prisma.raw(ofJob)},
         json_to_record(r.body) AS ${Prisma.raw(fields)} RETURNING ${Prisma.raw(inserted)}),
     notified AS (${Prisma.raw(notifyOfRequestsSql('opened'))})
    SELECT CASE WHEN refused THEN 0 ELSE (extract(epoch FROM least(expires_at, remind_at)) * 1000)::float8 END AS at FROM opened`;
  return rows.flatMap(({ at }) => (at === null ? [] : [interruptDue({ workspaceId, jobId, id }, at)]));
}

/** The message that an interrupt may be due at `at` (ms since the epoch). The row decides. One message is stored for an instant. */
export function interruptDue(
  { workspaceId, jobId, id: interruptId }: JobRef & { readonly id: string },
  at: number,
): AddressedMessage {
  const instant = Math.ceil(at);
  const id = idFrom(interruptId, instant);
  // pg-boss deletes a message two weeks after its start time, so the start time is never in the past.
  const startAfter = Math.max(instant, systemClock.now());
  return { queue: 'interrupt.due', id, data: { workspaceId, jobId, interruptId }, startAfter };
}

/**
 * When the first message is due. A request of a sub-job is due at once, because only the row shows whether the root job's input refuses it.
 */
function firstInstant({ parentJobId, input }: OpeningJob, { kind, expiresAt = null }: NewInterrupt): number | null {
  if (!personKinds.some((one) => one === kind)) return expiresAt;
  const now = systemClock.now();
  if (parentJobId !== null || isRefusing(input)) return now;
  return Math.min(expiresAt ?? Infinity, now + remindAfterMs);
}

function isRefusing(input: unknown): boolean {
  return typeof input === 'object' && input !== null && 'humanWait' in input && input.humanWait === 'reject';
}

/** The event that shows a request to viewers; append it in the commit that opens the request. */
export function interruptOpened(interrupt: NewInterrupt): NewJobEvent {
  const { id: interruptId, kind, callId, nodeId, title, expiresAt, request } = interrupt;
  return {
    type: 'interrupt-opened',
    body: {
      interruptId,
      kind,
      ...(callId === undefined || callId === null ? {} : { callId }),
      ...(nodeId === undefined || nodeId === null ? {} : { nodeId }),
      title,
      expiresAt: expiresAt ?? null,
      request,
    },
  };
}
