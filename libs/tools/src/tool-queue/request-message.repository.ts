import { insertMessagesSql, TOOL_QUEUES } from '#platform';

/**
 * INSERT of the requests for calls. `calls` is what follows FROM and names the calls `c` (id, epoch, attempt, name, runtime, args,
 * key, allow_edit, admin_required, ttl in ms, delay) and their jobs `j`. A message's id says which attempt it asks for, so that asking twice
 * leaves one message. Returns a row per message sent.
 */
export function insertRequestsSql(calls: string): string {
  return insertMessagesSql(`(SELECT ${requestId('c.id', 'c.epoch')} AS id, '${TOOL_QUEUES.requests}' AS queue, 0 AS priority,
      c.delay, ${toolKey('c.name', 'c.runtime', 'j.workspace_id')} AS topic, j.workspace_id::text AS owner, jsonb_build_object(
        'type', 'function_request', 'correlation_id', c.id, 'session_id', j.thread_id, 'workspace_id', j.workspace_id,
        'job_id', j.id, 'principal_id', j.principal, 'tool_name', c.name, 'arguments', c.args,
        'metadata', jsonb_build_object('model', j.model, 'idempotency_key', c.key, 'allow_edit', c.allow_edit,
          'admin_required', c.admin_required, 'ttl_ms', c.ttl),
        'streaming', true, 'reply_to', '${TOOL_QUEUES.results}', 'exec_epoch', c.epoch, 'attempt', c.attempt,
        'timestamp', (extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS data
      FROM ${calls}) m`);
}

/**
 * SQL of what makes calls those of one tool, where places are counted: a tool of the process is one for all workspaces, tools
 * that are data of a workspace are its own, even if other workspaces use the same names.
 */
export function toolKey(name: string, runtime: string, workspaceId: string): string {
  return `CASE WHEN ${runtime} IN ('http', 'mcp') THEN ${workspaceId} || '/' ELSE '' END || ${name}`;
}

/** SQL of the id of the message that asks for the attempt after `epoch`. */
export function requestId(id: string, epoch: string): string {
  return `md5(${id}::text || ':' || ${epoch}::text)::uuid`;
}
