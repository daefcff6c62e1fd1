import type { Role } from '#auth';
import { newId } from '#platform';

import { startTestApi, type TestApi, type TestMember } from './api.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import { idAt, insertCalls, type PastCall } from './tool-call-history.js';

/** When the calls below begin; one an hour. */
export const FIRST_CALL_AT = Date.UTC(2026, 10, 20, 12);
const HOUR_MS = 3_600_000;

/** An API over a workspace in which six calls were made, and a member of another workspace. */
export interface ManyCalls {
  readonly api: TestApi;
  readonly database: TestDatabase;
  readonly here: Record<Role, TestMember>;
  readonly stranger: TestMember;
  /** The first is number 1. 2 and 5 are of the member's second job, in a thread; 4 was approved by the admin. */
  readonly calls: readonly PastCall[];
  readonly secondJob: string;
  readonly threadId: string;
  /** The audit entries of an action, the newest first. */
  auditOf(action: string): Promise<readonly { actor: string; subject_id: string; details: unknown }[]>;
  /** Gives a call the error of one that the policy blocked, and returns the true reason. */
  block(n: number): Promise<string>;
  /** Lets a member approve a call with other arguments than it was proposed with; gives its id. */
  edit(n: number, args: string): Promise<string>;
  close(): Promise<void>;
}

export async function openManyCalls(): Promise<ManyCalls> {
  const database = await createTestDatabase();
  const api = await startTestApi(database, { takesJobs: false });
  return {
    ...(await layOutCalls(api, database)),
    api,
    database,
    close: async () => {
      await api.close();
      await database.close();
    },
  };
}

async function layOutCalls(
  api: TestApi,
  database: TestDatabase,
): Promise<Omit<ManyCalls, 'api' | 'database' | 'close'>> {
  const here = await api.people.workspaceOf('here');
  const stranger = (await api.people.workspaceOf('elsewhere')).owner;
  const { userId: member, workspaceId } = here.member.principal;
  const [secondJob, threadId] = [newId(), newId()];
  const ofMember = { createdBy: member, jobId: secondJob, threadId };
  const ofOwner = { createdBy: here.owner.principal.userId, jobId: newId(), threadId: null };
  const made = (n: number, change: Partial<PastCall>): PastCall => ({
    ...ofOwner,
    id: idAt(FIRST_CALL_AT + n * HOUR_MS, n),
    createdAt: FIRST_CALL_AT + n * HOUR_MS,
    workflowId: null,
    name: 'add',
    runtime: 'server',
    status: 'completed',
    error: null,
    decidedBy: null,
    durationMs: 10 * n,
    arguments: JSON.stringify({ to: `user${n}`, n }),
    result: 'sum',
    ...change,
  });
  const failure = { phase: 'execution', code: 'quota', message: 'Quota of project Blue is used up' };
  const calls = [
    made(1, {}),
    made(2, { name: 'crm.find', runtime: 'mcp', ...ofMember }),
    made(3, { status: 'error', result: null, error: failure }),
    made(4, { name: 'crm.update', runtime: 'mcp', decidedBy: `user:${here.admin.principal.userId}` }),
    made(5, { status: 'running', durationMs: null, result: null, ...ofMember }),
    made(6, { result: `${'é'.repeat(20_000)}!` }),
  ];
  await insertCalls(database, workspaceId, calls);
  return { here, stranger, calls, secondJob, threadId, ...handsOn(database, workspaceId, calls) };
}

function handsOn(
  database: TestDatabase,
  workspaceId: string,
  calls: readonly PastCall[],
): Pick<ManyCalls, 'auditOf' | 'block' | 'edit'> {
  const callOf = (n: number) => {
    const call = calls[n - 1];
    if (call === undefined) throw new Error(`call ${n} does not exist`);
    return call;
  };
  const change = async (sql: string, values: readonly unknown[]) => {
    await database.postgres.withWorkspaceSql(workspaceId, (client) => client.query(sql, [...values]));
  };
  return {
    auditOf: async (action) => {
      const sql = 'SELECT actor, subject_id, details FROM audit_entry WHERE action = $1 ORDER BY id DESC';
      const { rows } = await database.postgres.withWorkspaceSql(workspaceId, (client) =>
        client.query<{ actor: string; subject_id: string; details: unknown }>(sql, [action]),
      );
      return rows;
    },
    block: async (n) => {
      const { id, name } = callOf(n);
      const reason = `Rule 0 of the workspace (${name}) blocks it.`;
      const error = { phase: 'approval', message: `Tool "${name}" is not registered on server.`, reason };
      await change('UPDATE tool_call SET error = $2 WHERE id = $1', [id, JSON.stringify(error)]);
      return reason;
    },
    edit: async (n, args) => {
      const { id } = callOf(n);
      await change('UPDATE tool_call SET approved_arguments = $2 WHERE id = $1', [id, args]);
      return id;
    },
  };
}
