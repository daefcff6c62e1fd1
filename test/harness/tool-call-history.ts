import { argumentContents } from '../../libs/tools/src/history/argument-content.js';
import type { TestDatabase } from './database.js';

/** A call of the ledger as specs about its history make it up. */
export interface PastCall {
  readonly id: string;
  readonly jobId: string;
  /** Ms since the epoch. */
  readonly createdAt: number;
  readonly createdBy: string | null;
  readonly threadId: string | null;
  readonly workflowId: string | null;
  readonly name: string;
  readonly runtime: string;
  readonly status: string;
  readonly error: { readonly phase: string; readonly code?: string; readonly message: string } | null;
  readonly decidedBy: string | null;
  readonly durationMs: number | null;
  readonly arguments: string;
  readonly result: string | null;
}

/** An id made at `ms`, the `n`-th of a spec. */
export function idAt(ms: number, n: number): string {
  const hex = Math.floor(ms).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`;
}

const jobsSql = `INSERT INTO job (workspace_id, id, kind, status, created_by, principal, model, input, finished_at)
  SELECT DISTINCT ON ("jobId") $1::uuid, "jobId", 'chat', 'completed', "createdBy", 'system', 'm', '{}'::json, now()
    FROM json_to_recordset($2::json) AS r("jobId" uuid, "createdBy" uuid) ON CONFLICT DO NOTHING`;

const callsSql = `INSERT INTO tool_call (workspace_id, id, job_id, round, ordinal, call_id, name, arguments, effect, status, idem_key,
    result, error, created_at, started_at, finished_at, created_by, thread_id, workflow_id, runtime, decided_by, duration_ms,
    result_bytes, argument_keys)
  SELECT $1::uuid, r.id, r."jobId", 1, row_number() OVER (), 'call_' || row_number() OVER (), r.name, r.arguments, 'pure', r.status,
         r.id::text, r.result, r.error, to_timestamp(r."createdAt" / 1000), NULL, NULL, r."createdBy", r."threadId", r."workflowId", r.runtime,
         r."decidedBy", r."durationMs", octet_length(r.result),
         nullif(ARRAY(SELECT tool_call_key(tool_call_seed($1::uuid, tool_call_day(r.id)), c) FROM unnest(r.contents) AS c), '{}')
    FROM json_to_recordset($2::json) AS r(id uuid, "jobId" uuid, name text, arguments text, status text, result text, error jsonb,
         "createdAt" float8, "createdBy" uuid, "threadId" uuid, "workflowId" uuid, runtime text, "decidedBy" text, "durationMs" int,
         contents text[])`;

/** Writes calls, and the jobs they need, as they are. */
export async function insertCalls(
  database: TestDatabase,
  workspaceId: string,
  calls: readonly PastCall[],
): Promise<void> {
  await database.postgres.withWorkspaceSql(workspaceId, async (client) => {
    await client.query(jobsSql, [workspaceId, JSON.stringify(calls)]);
    const rows = calls.map((call) => ({ ...call, contents: argumentContents(call.arguments) }));
    await client.query(callsSql, [workspaceId, JSON.stringify(rows)]);
  });
}
