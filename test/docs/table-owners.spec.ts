import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../..');

/** The lib that owns a table, and why statements of other libs name it. */
interface Ownership {
  readonly owner: string;
  readonly others?: Readonly<Record<string, string>>;
}

const conversation = 'reads a conversation or an answer in one statement';
const ownDocuments = 'reads own rows as documents, for receivers of deliveries';
const nodeState = 'reads or ends the node runs of a job in one statement';

const ownerships: Readonly<Record<string, Ownership>> = {
  admission: {
    owner: 'libs/jobs',
    others: { 'libs/chat': 'admits the request that continues an answer, in the transaction of its results' },
  },
  agent: { owner: 'libs/chat', others: { 'libs/jobs': 'counts running jobs against the cap of their agent' } },
  agent_version: {
    owner: 'libs/chat',
    others: { 'libs/approvals': 'reads the policy of the agent when a call starts' },
  },
  api_key: { owner: 'libs/auth', others: { 'libs/approvals': 'ends a grant with the key that gave it' } },
  app_user: { owner: 'libs/auth' },
  approval_grant: { owner: 'libs/approvals' },
  approval_policy: { owner: 'libs/approvals' },
  audit_entry: {
    owner: 'libs/auth',
    others: { 'libs/platform': 'appends an entry in the transaction of the change that it records' },
  },
  content_removal: { owner: 'libs/files' },
  document_change: { owner: 'libs/triggers' },
  executed_call: { owner: 'libs/chat' },
  feature_flag: { owner: 'libs/auth' },
  feature_flag_change: { owner: 'libs/auth' },
  file_chunk: { owner: 'libs/files' },
  interrupt: {
    owner: 'libs/jobs',
    others: {
      'libs/approvals':
        'reads the decision rules of an approval when a call starts, and records which client claimed a call',
      'libs/chat': conversation,
      'libs/tools': 'checks whether a person was asked about a call that ended late',
      'libs/workflows': nodeState,
    },
  },
  invitation: { owner: 'libs/auth' },
  job: {
    owner: 'libs/jobs',
    others: {
      'apps/api': 'checks that the schema fits the build',
      'libs/approvals': 'reads for whom a call is made, and fences the claim of a client',
      'libs/chat': conversation,
      'libs/files': 'keeps files that an unfinished job refers to',
      'libs/tools': 'reads the job of a ledger row, and fences the row by its lease',
      'libs/triggers': 'counts the jobs of a trigger that have not ended, and reads the key of a job and its document',
      'libs/workflows': 'reads a run with its job in one statement',
    },
  },
  job_event: {
    owner: 'libs/jobs',
    others: { 'libs/chat': conversation, 'libs/workflows': 'reads the text and the branches of a node that runs' },
  },
  job_label: { owner: 'libs/jobs' },
  job_viewer: { owner: 'libs/jobs' },
  mcp_server: { owner: 'libs/integrations' },
  mcp_tool: { owner: 'libs/integrations' },
  membership: {
    owner: 'libs/auth',
    others: {
      'libs/approvals': 'ends a grant with the membership of its members, and replays calls by role',
      'libs/triggers': 'finds the owner for whom the triggers of files act, and whom to notify of a disabled endpoint',
    },
  },
  message: {
    owner: 'libs/chat',
    others: {
      'libs/jobs': 'rejects a repeated message of a start, and keeps the text of removed jobs',
      'libs/triggers': ownDocuments,
    },
  },
  model_provider: { owner: 'libs/models' },
  node_run: { owner: 'libs/workflows', others: { 'libs/chat': nodeState, 'libs/jobs': nodeState } },
  notification: { owner: 'libs/jobs' },
  notification_channel: { owner: 'libs/triggers' },
  notification_cursor: { owner: 'libs/triggers' },
  openai_answer: { owner: 'libs/chat' },
  openai_call_id: { owner: 'libs/chat' },
  openai_session: { owner: 'libs/chat' },
  rate_limit: { owner: 'libs/platform' },
  round: {
    owner: 'libs/jobs',
    others: {
      'libs/approvals': 'reads the agent that round 0 chose',
      'libs/chat': conversation,
      'libs/tools': 'reads the text of a finished sub-job',
      'libs/workflows': nodeState,
    },
  },
  scheduled_slot: { owner: 'libs/schedules' },
  stored_file: { owner: 'libs/files' },
  syntrix_connection: { owner: 'libs/triggers' },
  syntrix_delivery: { owner: 'libs/triggers' },
  syntrix_turn: { owner: 'libs/triggers' },
  thread: {
    owner: 'libs/chat',
    others: {
      'libs/jobs': 'locks the thread of a start, and names it in notifications',
      'libs/triggers': ownDocuments,
    },
  },
  tool_call: {
    owner: 'libs/tools',
    others: {
      'libs/approvals': 'reads a call that starts, and replays a policy on past calls',
      'libs/chat': conversation,
      'libs/jobs': 'ends the calls of a job in the statement that claims, cancels or resumes it',
      'libs/triggers': ownDocuments,
      'libs/workflows': nodeState,
    },
  },
  tool_output: { owner: 'libs/tools' },
  trigger_definition: { owner: 'libs/triggers' },
  trigger_run: { owner: 'libs/triggers', others: { 'libs/files': 'keeps files that a due run refers to' } },
  user_sockets: { owner: 'apps/api' },
  webhook_delivery: {
    owner: 'libs/triggers',
    others: { 'libs/jobs': 'adds the deliveries of an event in its statement' },
  },
  webhook_endpoint: {
    owner: 'libs/triggers',
    others: { 'libs/jobs': 'finds who wants an event in the statement that writes it' },
  },
  workflow: { owner: 'libs/workflows', others: { 'libs/jobs': 'names the workflow in a notification' } },
  workflow_memory: { owner: 'libs/workflows' },
  workflow_schedule: {
    owner: 'libs/schedules',
    others: {
      'libs/files': 'keeps files that a schedule refers to',
      'libs/workflows': 'removes the schedules of a workflow that is removed',
    },
  },
  workflow_version: { owner: 'libs/workflows' },
  workspace: {
    owner: 'libs/auth',
    others: {
      'libs/approvals': 'locks the workspace whose policy changes',
      'libs/integrations': 'reads and writes the outbound hosts of the workspace',
      'libs/jobs': 'reads the caps and the retention of the workspace',
      'libs/models': 'locks the workspace whose providers change',
      'libs/tools': 'locks the workspace whose tools change',
      'libs/triggers': 'reads the names that a database of triggers may have',
    },
  },
  workspace_secret: { owner: 'libs/integrations' },
  workspace_tool: { owner: 'libs/integrations' },
  workspace_tool_version: { owner: 'libs/integrations' },
};

/** Tables of the schema, by the name that Prisma's client has for their model. */
function schemaTables(): ReadonlyMap<string, string> {
  const schema = readFileSync(join(root, 'prisma/schema.prisma'), 'utf8');
  const models = [...schema.matchAll(/^model (\w+) \{([\s\S]*?)^\}/gm)];
  return new Map(
    models.map(([, model = '', body = '']) => [
      /@@map\("([^"]+)"\)/.exec(body)?.[1] ?? model,
      model.charAt(0).toLowerCase() + model.slice(1),
    ]),
  );
}

/** A comma join: what follows FROM or USING, up to the comma before a table. A table may have an alias. */
const commaJoin = String.raw`\b(?:FROM|USING)\s+(?:[\w."]+(?:\s+(?:AS\s+)?\w+)?\s*,\s*)+`;

/** The tables that a source names in SQL or through Prisma's client. */
function tablesIn(source: string, tables: ReadonlyMap<string, string>): string[] {
  return [...tables].flatMap(([table, model]) => {
    const name = String.raw`(?:public\.)?"?${table}\b`;
    const sql = new RegExp(String.raw`\b(?:FROM|JOIN|INTO|UPDATE|ONLY|TABLE|USING)\s+${name}|${commaJoin}${name}`);
    const client = new RegExp(String.raw`\.${model}\.(?:find|create|update|delete|count|upsert|aggregate|groupBy)`);
    return sql.test(source) || client.test(source) ? [table] : [];
  });
}

/** `table of lib` for every lib and table that its statements name. */
function usesInSources(): Set<string> {
  const tables = schemaTables();
  const files = globSync('{libs,apps}/*/src/**/*.ts', { cwd: root }).filter(
    (file) => !/spec\.ts$|generated/.test(file),
  );
  return new Set(
    files.flatMap((file) => {
      const lib = file.split('/').slice(0, 2).join('/');
      return tablesIn(readFileSync(join(root, file), 'utf8'), tables).map((table) => `${table} of ${lib}`);
    }),
  );
}

it('every table of the schema has an owner, and every owner a table', () => {
  expect(Object.keys(ownerships).toSorted()).toEqual([...schemaTables().keys()].toSorted());
});

it('statements name tables of their own lib, except those listed with a reason', () => {
  const listed = Object.entries(ownerships).flatMap(([table, { owner, others = {} }]) =>
    [owner, ...Object.keys(others)].map((lib) => `${table} of ${lib}`),
  );
  expect([...usesInSources()].filter((use) => !listed.includes(use))).toEqual([]);
});

it('the list has no lib whose statements do not name the table', () => {
  const uses = usesInSources();
  // Functions of the database (`files_in_messages`) and relations that Prisma's client selects name their tables nowhere in the sources.
  const listed = Object.entries(ownerships).flatMap(([table, { others = {} }]) =>
    Object.keys(others).map((lib) => `${table} of ${lib}`),
  );
  expect(listed.filter((use) => !uses.has(use))).toEqual([]);
});

it('the search finds tables in SQL and in calls of the Prisma client', () => {
  const tables = schemaTables();
  expect(tablesIn('SELECT 1 FROM job j JOIN "round" r ON true', tables).toSorted()).toEqual(['job', 'round']);
  expect(tablesIn('DELETE FROM job_label l USING job AS j, public.round r, thread', tables).toSorted()).toEqual([
    'job',
    'job_label',
    'round',
    'thread',
  ]);
  expect(tablesIn('tx.apiKey.findMany()', tables)).toEqual(['api_key']);
  expect(tablesIn('SELECT 1 FROM jobs', tables)).toEqual([]);
});
