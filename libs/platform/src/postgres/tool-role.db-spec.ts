import { createHash } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { Postgres } from './postgres.js';

interface Allowed {
  readonly select?: string;
  readonly insert?: string;
  readonly update?: string;
  readonly delete?: true;
}

const views = {
  own_call: 'decided_by executor id job_id status workspace_id',
  claimed_call: 'decided_by id job_id workspace_id',
  job: 'created_by id input model principal thread_id workspace_id',
  round: 'captured job_id number workspace_id',
  interrupt: 'admin_required decidable_by four_eyes id kind outcome tool_call_id workspace_id',
  principal: 'id workspace_id',
};

/** pg-boss's name of the table of a queue that has one of its own. */
function tableOf(queue: string): string {
  return `pgboss.j${createHash('sha224').update(queue).digest('hex')}`;
}

/** The columns that pg-boss writes when it sends a message. */
const sent =
  'blocked blocking created_on data dead_letter deletion_seconds expire_seconds group_id group_tier heartbeat_seconds id keep_until name pending_dependencies policy priority retry_backoff retry_delay retry_delay_max retry_limit singleton_key singleton_on start_after';

/** Every privilege of the role on tables and views. Anything that is not here must be refused. */
const allowed: Readonly<Record<string, Allowed>> = {
  ...Object.fromEntries(Object.entries(views).map(([name, select]) => [`tool_process.${name}`, { select }])),
  'public.tool_call': {
    select:
      'approval approved_arguments arguments call_id cancel_requested_at concurrency decided_by effect exec_attempts exec_epoch exec_until executed_arguments executor id idem_key job_id name queued_at round runtime status tool_version workspace_id',
    update: 'exec_attempts exec_epoch exec_owner exec_until progress_seq queued_at started_at',
  },
  'public.job': { select: 'cancel_requested_at finished_at id principal thread_id workspace_id', update: 'restarts' },
  'public.workspace': { select: 'id outbound_hosts' },
  'public.stored_file': { select: 'bytes hash id mime name store workspace_id' },
  'public.file_chunk': { select: 'data file_id number workspace_id' },
  'public.workspace_secret': { select: 'cipher id name workspace_id' },
  'public.workspace_tool': { select: 'enabled id removed_at version workspace_id' },
  'public.workspace_tool_version': { select: 'definition tool_id version workspace_id' },
  'public.approval_policy': { select: 'created_at created_by policy version workspace_id' },
  'public.approval_grant': {
    select: 'agent expires_at granted_by id operation policy_version requester revoked_at thread_id workspace_id',
  },
  'public.agent_version': { select: 'agent_id number tool_approval workspace_id' },
  'public.mcp_server': {
    select: 'enabled id last_error name settings transport workspace_id',
    update: 'last_error listed_at',
  },
  'public.mcp_tool': {
    select: 'accepted_definition accepted_hash definition gone_at hash name server_id workspace_id',
    insert: 'definition hash name server_id workspace_id',
    update: 'definition gone_at hash',
    delete: true,
  },
  'public.api_key': { select: 'expires_at id prefix revoked_at scopes user_id workspace_id' },
  'public.membership': { select: 'role user_id workspace_id' },
  'public.audit_entry': { insert: 'action actor at details id subject_id subject_type workspace_id' },
  'pgboss.queue': {
    select:
      'active_count completed_delta created_delta created_on dead_letter deferred_count deletion_seconds delta_on delta_seconds expire_seconds failed_count failed_delta heartbeat_seconds maintain_on monitor_claim_on monitor_on name notify partition policy queued_count ready_count ready_history retention_seconds retry_backoff retry_delay retry_delay_max retry_limit singletons_active table_name total_count updated_on warning_queued',
  },
  'pgboss.version': { select: 'bam_on cron_on flow_on monitor_backoff_on reindex_on version' },
  [tableOf('tool-execution')]: {
    select:
      'blocked completed_on created_on data expire_seconds group_id group_tier heartbeat_seconds id name pending_dependencies priority retry_count singleton_key start_after started_on state',
    insert: sent,
    update: 'blocked completed_on heartbeat_on output pending_dependencies retry_count started_on state',
    delete: true,
  },
  [tableOf('tool-results')]: { insert: sent },
  [tableOf('tool-execution-dead')]: { insert: sent },
};

const PRIVILEGES = `
  SELECT n.nspname || '.' || c.relname AS name, c.relkind AS kind,
         array_agg(a.attname::text ORDER BY a.attname) AS columns,
         string_agg(a.attname, ' ' ORDER BY a.attname COLLATE "C") FILTER (WHERE has_column_privilege('nightshift_tools', c.oid, a.attnum, 'SELECT')) AS select,
         string_agg(a.attname, ' ' ORDER BY a.attname COLLATE "C") FILTER (WHERE has_column_privilege('nightshift_tools', c.oid, a.attnum, 'INSERT')) AS insert,
         string_agg(a.attname, ' ' ORDER BY a.attname COLLATE "C") FILTER (WHERE has_column_privilege('nightshift_tools', c.oid, a.attnum, 'UPDATE')) AS update,
         nullif(has_table_privilege('nightshift_tools', c.oid, 'DELETE'), false) AS delete,
         nullif(has_table_privilege('nightshift_tools', c.oid, 'TRUNCATE, REFERENCES, TRIGGER'), false) AS more
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
   WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
   GROUP BY n.nspname, c.relname, c.relkind, c.oid ORDER BY 1`;

type Row = Allowed & { readonly name: string; readonly columns: readonly string[]; readonly more: boolean | null };

let database: TestDatabase;
let owner: pg.Client;
let mine: Postgres;

beforeAll(async () => {
  database = await createTestDatabase();
  owner = new pg.Client({ connectionString: database.urls.owner });
  await owner.connect();
  mine = Postgres.connectToolProcess(database.urls.tools, { poolSize: 2 });
});

afterAll(async () => {
  await Promise.all([mine.close(), owner.end()]);
  await database.close();
});

describe('nightshift_tools', () => {
  it('holds exactly the listed privileges on tables and views', async () => {
    const { rows } = await owner.query<Row>(PRIVILEGES);
    const found = rows.map(({ name, select, insert, update, delete: deletes, more }) => {
      const held = Object.entries({ select, insert, update, delete: deletes, more }).filter(([, it]) => it !== null);
      return [name, Object.fromEntries(held)] as const;
    });
    expect(Object.fromEntries(found.filter(([, held]) => Object.keys(held).length > 0))).toEqual(allowed);
    expect(rows.length).toBeGreaterThan(50);
  });

  it('cannot run any statement on any table that the list does not name', async () => {
    const { rows } = await owner.query<Row>(PRIVILEGES);
    const client = await mine.workerPool.connect();
    const refused = async (sql: string) =>
      client.query(sql).then(
        () => `${sql}: passed`,
        (error: unknown) => (error instanceof pg.DatabaseError && error.code === '42501' ? 'refused' : String(error)),
      );
    const wrong: string[] = [];
    for (const { name, columns } of rows) {
      const quoted = name
        .split('.')
        .map((part) => client.escapeIdentifier(part))
        .join('.');
      const column = client.escapeIdentifier(columns[0] ?? '');
      const { select = '', insert = '', update = '', delete: deletes } = allowed[name] ?? {};
      const has = (list: string, one: string | undefined) => list.split(' ').includes(one ?? '');
      const attempts = [
        ...(has(select, columns[0]) ? [] : [`SELECT ${column} FROM ${quoted}`]),
        ...(select.split(' ').length === columns.length ? [] : [`SELECT * FROM ${quoted}`]),
        ...(has(insert, columns[0]) ? [] : [`INSERT INTO ${quoted} (${column}) VALUES (NULL)`]),
        ...(has(update, columns[0]) ? [] : [`UPDATE ${quoted} SET ${column} = NULL`]),
        ...(deletes === true ? [] : [`DELETE FROM ${quoted}`]),
        `TRUNCATE ${quoted}`,
      ];
      for (const sql of attempts) {
        const outcome = await refused(sql);
        // A view of several tables refuses writes by any role; TRUNCATE refuses views.
        if (outcome !== 'refused' && !/cannot (insert|update|delete)|is not a table/.test(outcome)) wrong.push(outcome);
      }
    }
    client.release();
    expect(wrong).toEqual([]);
  });

  it('runs no SECURITY DEFINER function, creates nothing, and is a member of no role', async () => {
    const { rows } = await owner.query(`
      SELECT (SELECT count(*)::int FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.prosecdef
                 AND n.nspname NOT IN ('pg_catalog', 'information_schema')
                 AND has_function_privilege('nightshift_tools', p.oid, 'EXECUTE')) AS functions,
             (SELECT count(*)::int FROM pg_namespace n WHERE has_schema_privilege('nightshift_tools', n.oid, 'CREATE')) AS schemas,
             (SELECT count(*)::int FROM pg_class c WHERE CASE c.relkind WHEN 'S' THEN has_sequence_privilege('nightshift_tools', c.oid, 'USAGE') ELSE false END) AS sequences,
             has_database_privilege('nightshift_tools', current_database(), 'CREATE') AS databases,
             (SELECT count(*)::int FROM pg_auth_members WHERE member = 'nightshift_tools'::regrole) AS roles,
             (SELECT rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = 'nightshift_tools') AS rights`);
    expect(rows).toEqual([{ functions: 0, schemas: 0, sequences: 0, databases: false, roles: 0, rights: false }]);
  });
});
