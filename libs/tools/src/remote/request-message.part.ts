import { TOOL_QUEUES } from '#platform';

/**
 * SELECT of the requests for calls, for `Queues.insertionOf`. `calls` is what follows FROM and names the calls `c` (id, epoch, attempt,
 * name, runtime, args, key, allow_edit, admin_required, ttl in ms, concurrency, delay) and their jobs `j`. A message's id shows which
 * attempt it asks for, so that asking twice leaves one message. The calls of a tool in one workspace are a group, and the tool's limit is
 * the tier: a process that has no slot for the calls of one workspace still fetches those of others.
 */
export function selectRequestsSql(calls: string): string {
  return `SELECT ${requestId('c.id', 'c.epoch')} AS id, c.delay::text AS "startAfter",
      j.workspace_id || '/' || c.name AS "groupId", c.concurrency::text AS "groupTier", j.workspace_id::text AS "singletonKey", jsonb_build_object(
        'type', 'function_request', 'correlation_id', c.id, 'session_id', j.thread_id, 'workspace_id', j.workspace_id,
        'job_id', j.id, 'principal_id', j.principal, 'tool_name', c.name, 'arguments', c.args,
        'metadata', jsonb_build_object('model', j.model, 'idempotency_key', c.key, 'allow_edit', c.allow_edit,
          'admin_required', c.admin_required, 'ttl_ms', c.ttl),
        'tool_key', ${toolKey('c.name', 'c.runtime', 'j.workspace_id')},
        'streaming', true, 'reply_to', '${TOOL_QUEUES.results}', 'exec_epoch', c.epoch, 'attempt', c.attempt,
        'timestamp', (extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS data
      FROM ${calls}`;
}

/** The `calls` of `selectRequestsSql` for rows `t` of tool_call that are sent again after `delay`; `ttl` in ms. */
export function callsAgainSql(rows: string, ttl: string, delay: string): string {
  return `${rows} t JOIN job j ON j.workspace_id = t.workspace_id AND j.id = t.job_id
  CROSS JOIN LATERAL (SELECT t.id, t.exec_epoch AS epoch, t.exec_attempts + 1 AS attempt, t.name, t.runtime,
    coalesce(t.executed_arguments, t.approved_arguments, t.arguments) AS args, t.idem_key AS key, true AS allow_edit,
    false AS admin_required, t.concurrency, ${ttl} AS ttl, ${delay} AS delay) c`;
}

/**
 * SQL of the key under which slots count calls of one tool. All workspaces share the key of a tool of the server. A tool that a workspace
 * defines has its own key, even if another workspace uses the same name.
 */
export function toolKey(name: string, runtime: string, workspaceId: string): string {
  return `CASE WHEN ${runtime} IN ('http', 'mcp') THEN ${workspaceId} || '/' ELSE '' END || ${name}`;
}

/** SQL of the id of the message that requests the attempt after `epoch`. */
export function requestId(id: string, epoch: string): string {
  return `md5(${id}::text || ':' || (${epoch})::text)::uuid`;
}
