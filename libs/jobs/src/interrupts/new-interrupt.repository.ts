import type { SqlClient } from '#platform';

import { type CommitPart, type PartRow, partRow } from '../events/commit-part.js';
import type { NewJobEvent } from '../events/job-event.js';
import { type NewInterrupt, personKinds } from '../interrupt.js';
import type { JobRef } from '../job.js';
import { notifyOfRequestsSql } from '../notifications/new-notification.repository.js';

type Row = readonly [workspaceId: string, jobId: string, id: string, body: object];

/** A first reminder after a day, and every day after it, while a person is awaited. */
const remindAfter = `interval '1 day'`;
const isToPerson = `b.kind IN (${personKinds.map((kind) => `'${kind}'`).join(', ')})`;

/** No person is to be waited for: so it was wished for the job that all this is the work of. */
const isRefused = `CASE WHEN ${isToPerson} THEN coalesce(coalesce(root.input, j.input)->>'humanWait' = 'reject', false) ELSE false END`;

const columns = `workspace_id, job_id, id, kind, title, request, tool_call_id, call_id, tool, node_id, path, thread_id, root_job_id,
    requester, decidable_by, four_eyes, admin_required, principal, device_id, expire_action, expires_at, remind_at, refused,
    created_at`;

/**
 * Reads a request out of its JSON; `r` has workspace_id, job_id, id and body. What a sub-job asks stands below the job that a
 * person started, and in the thread of that one: here, so that nobody who opens a request has to know of it.
 */
const values = `r.workspace_id, r.job_id, r.id, b.kind, b.title, b.request, b."toolCallId", b."callId", b.tool, b."nodeId",
    coalesce(b.path, '{}'), coalesce(b."threadId", root.thread_id), j.root_job_id, b.requester, coalesce(b."decidableBy", 'requester'),
    coalesce(b."fourEyes", false), coalesce(b."adminRequired", false), b.principal, b."deviceId",
    coalesce(b."expireAction", 'deny'), to_timestamp(b."expiresAt" / 1000),
    CASE WHEN ${isToPerson} THEN clock_timestamp() + ${remindAfter} END, ${isRefused}, clock_timestamp()`;

const fields = `b(kind text, title text, request jsonb, "toolCallId" uuid, "callId" text, tool text, "nodeId" text, path text[],
    "threadId" uuid, requester uuid, "decidableBy" text, "fourEyes" bool, "adminRequired" bool, principal text,
    "deviceId" text, "expireAction" text, "expiresAt" float8)`;

/** A sub-job acts for whoever started its root, so its requester is the root's anyway. */
const ofJob = `JOIN job j ON j.workspace_id = r.workspace_id AND j.id = r.job_id
  LEFT JOIN job root ON root.workspace_id = j.workspace_id AND root.id = j.root_job_id`;

/** What the notification of it is made of. */
const told = 'workspace_id, id, job_id, kind, refused';

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
    json_to_record(r.body) AS ${fields} RETURNING ${told}`,
  opensInterrupts: true,
  beside: (_rows, written) => ({ name: 'notified_requests', sql: notifyOfRequestsSql(written) }),
};

/** A request as a run opens it: committed with what it is about, before anybody is told. */
export function openInterruptRow(job: JobRef, interrupt: NewInterrupt): PartRow {
  const { id, ...body } = interrupt;
  return partRow(opened, [job.workspaceId, job.jobId, id, body]);
}

/** Opens a request from outside a lease, under the job's row lock. */
export async function insertInterrupt(client: SqlClient, job: JobRef, interrupt: NewInterrupt): Promise<void> {
  const { id, ...body } = interrupt;
  await client.query(
    `WITH opened AS (INSERT INTO interrupt (${columns}) SELECT ${values}
       FROM (SELECT $1::uuid AS workspace_id, $2::uuid AS job_id, $3::uuid AS id, $4::json AS body) r ${ofJob},
         json_to_record(r.body) AS ${fields} RETURNING ${told})
     ${notifyOfRequestsSql('opened')}`,
    [job.workspaceId, job.jobId, id, JSON.stringify(body)],
  );
}

/** Tells viewers of a request; goes with the commit that opens it. */
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
