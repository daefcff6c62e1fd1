import type { TestDatabase } from '../harness/database.js';
import { type Check, rows } from './check.js';

/**
 * Each request has one opened event and one settled event, whether a person, its deadline or the end of its job settled it
 * with its job, with the outcome that is stored. With its job nothing stays open: no request, no call.
 */
export const checkRequests: Check = async (database) => {
  const wrong = await rows<{ id: string; status: string; found: string }>(
    database,
    `SELECT i.id, i.status, format('opened %s times and settled as [%s]', e.opened, e.outcomes) AS found FROM interrupt i,
       LATERAL (SELECT count(*) FILTER (WHERE type = 'interrupt-opened') AS opened,
                       coalesce(string_agg(body->>'outcome', ' ' ORDER BY seq) FILTER (WHERE type = 'interrupt-resolved'), '')
                         AS outcomes
                  FROM job_event WHERE workspace_id = i.workspace_id AND job_id = i.job_id
                   AND type IN ('interrupt-opened', 'interrupt-resolved') AND body->>'interruptId' = i.id::text) e
      WHERE e.opened <> 1
         OR e.outcomes IS DISTINCT FROM CASE i.status WHEN 'open' THEN '' ELSE i.outcome->>'outcome' END`,
  );
  const leftOver = await rows<{ id: string; what: string }>(
    database,
    `SELECT j.id, format('%s request', i.kind) AS what FROM job j JOIN interrupt i
         ON i.workspace_id = j.workspace_id AND i.job_id = j.id WHERE j.finished_at IS NOT NULL AND i.status = 'open'
     UNION ALL
     SELECT j.id, format('call that is %s', c.status) FROM job j JOIN tool_call c
         ON c.workspace_id = j.workspace_id AND c.job_id = j.id WHERE j.finished_at IS NOT NULL
        AND c.status IN ('pending', 'awaiting_approval', 'awaiting_client', 'running')`,
  );
  return [
    ...wrong.map(({ id, status, found }) => `requests: ${id} is ${status} and was ${found}`),
    ...leftOver.map(({ id, what }) => `requests: job ${id} has ended with an open ${what}`),
  ];
};

interface AskedCall {
  readonly key: string;
  readonly args: string;
  readonly isApproved: boolean;
}

/**
 * A call that needed an approval ran only if it was approved, and with the approved arguments; every decision of a
 * person was made once.
 */
export const checkDecisions: Check = async (database, { ledger }) => {
  const ran = await rows<{ key: string; found: string }>(
    database,
    `SELECT idem_key AS key, format('%s was approved with %s and ran with %s', name, approved_arguments, executed_arguments)
              AS found
       FROM tool_call WHERE approval = 'person' AND started_at IS NOT NULL AND executed_arguments IS DISTINCT FROM approved_arguments
     UNION ALL
     SELECT c.idem_key, format('%s is %s and has begun', c.name, c.status) FROM tool_call c
      WHERE c.started_at IS NOT NULL AND c.status IN ('denied', 'awaiting_approval')`,
  );
  const asked = await rows<AskedCall>(
    database,
    `SELECT c.idem_key AS key, coalesce(c.approved_arguments, c.arguments) AS args,
            bool_or(i.outcome->>'outcome' = 'approved') IS TRUE AS "isApproved"
       FROM tool_call c JOIN interrupt i ON i.workspace_id = c.workspace_id AND i.tool_call_id = c.id
      WHERE i.kind = 'tool_approval' GROUP BY 1, 2`,
  );
  const byKey = new Map(asked.map((call) => [call.key, call]));
  const strange = ledger.calls.flatMap(({ tool, key, args = '{}' }) => {
    const call = byKey.get(key);
    if (call === undefined) return [];
    if (!call.isApproved) return [`${key} ${tool} was called without an approval`];
    return sameJson(args, call.args) ? [] : [`${key} ${tool} was called with ${args} instead of ${call.args}`];
  });
  return [
    ...ran.map(({ key, found }) => `decisions: ${key} ${found}`),
    ...[...strange, ...(await countedDecisions(database))].map((found) => `decisions: ${found}`),
  ];
};

/** The requests settled by a person whose audit entry differs. */
async function countedDecisions({ postgres }: TestDatabase): Promise<string[]> {
  const { rows: workspaces } = await postgres.workerPool.query<{ id: string }>(
    'SELECT DISTINCT workspace_id AS id FROM interrupt',
  );
  const found = await Promise.all(
    workspaces.map(({ id }) =>
      postgres.withWorkspaceSql(id, (client) =>
        client.query<{ found: string }>(
          `SELECT format('%s is %s by %s and was decided %s times', i.id, i.status, coalesce(i.decided_by, 'no user'), count(a.id))
                    AS found
             FROM interrupt i LEFT JOIN audit_entry a ON a.workspace_id = i.workspace_id AND a.subject_id = i.id::text
              AND a.action IN (i.kind || '.' || (i.outcome->>'outcome'))
            WHERE i.kind IN ('tool_approval', 'unknown_outcome') GROUP BY i.workspace_id, i.id
           HAVING count(a.id) <> CASE WHEN i.status = 'resolved' AND i.decided_by IS NOT NULL THEN 1 ELSE 0 END`,
        ),
      ),
    ),
  );
  return found.flatMap((result) => result.rows.map((row) => row.found));
}

function sameJson(a: string, b: string): boolean {
  const sorted = (text: string) => JSON.stringify(Object.entries(JSON.parse(text) as object).toSorted());
  return sorted(a) === sorted(b);
}
