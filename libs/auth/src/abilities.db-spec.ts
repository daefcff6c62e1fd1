import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId, type PrismaTransaction, type Scope, type ScopedSubject } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../test/harness/identities.js';
import { type AppAbility, asSubject } from './abilities.js';
import { abilityOf, scopeOf } from './ability.factory.js';
import {
  KEY_SCOPES,
  keyPrincipal,
  type MemberPrincipal,
  type Principal,
  type Role,
  ROLES,
  systemPrincipal,
} from './principal.js';

type Row = Record<string, unknown>;
type Read = (tx: PrismaTransaction, where: object) => Promise<Row[]>;

const READS: Record<ScopedSubject, Read> = {
  Workspace: (tx, where) => tx.workspace.findMany({ where }),
  Membership: (tx, where) => tx.membership.findMany({ where }),
  Invitation: (tx, where) => tx.invitation.findMany({ where }),
  ApiKey: (tx, where) => tx.apiKey.findMany({ where }),
  ModelProvider: (tx, where) => tx.modelProvider.findMany({ where }),
  WorkspaceTool: (tx, where) => tx.workspaceTool.findMany({ where }),
  WorkspaceSecret: (tx, where) => tx.workspaceSecret.findMany({ where }),
  WebhookEndpoint: (tx, where) => tx.webhookEndpoint.findMany({ where }),
  McpServer: (tx, where) => tx.mcpServer.findMany({ where }),
  SyntrixConnection: (tx, where) => tx.syntrixConnection.findMany({ where }),
  Workflow: (tx, where) => tx.workflow.findMany({ where }),
  Agent: (tx, where) => tx.agent.findMany({ where }),
  StoredFile: (tx, where) => tx.storedFile.findMany({ where }),
  Trigger: (tx, where) => tx.trigger.findMany({ where }),
  Schedule: (tx, where) => tx.schedule.findMany({ where }),
  Thread: (tx, where) => tx.thread.findMany({ where }),
  Message: (tx, where) => tx.message.findMany({ where }),
  Job: (tx, where) => tx.job.findMany({ where }),
  ToolCall: (tx, where) => tx.toolCall.findMany({ where }),
  Interrupt: (tx, where) => tx.interrupt.findMany({ where }),
  Notification: (tx, where) => tx.notification.findMany({ where }),
  NotificationChannel: (tx, where) => tx.notificationChannel.findMany({ where }),
  AuditEntry: (tx, where) => tx.auditEntry.findMany({ where }),
};
const SUBJECTS = Object.keys(READS) as ScopedSubject[]; // the keys of a Record of exactly these

let database: TestDatabase;
let identities: TestIdentities;
const worlds: Record<Role, MemberPrincipal>[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  for (const name of ['red', 'blue']) {
    const world = await identities.workspaceOf(name);
    worlds.push(world);
    for (const creator of [world.owner, world.member]) await work(creator);
  }
});
afterAll(async () => {
  identities.auth.close();
  await database.close();
});

/** One row of each kind of work, made by `creator`, and an invitation, a key, a provider, a tool, a secret, a server, a workflow and an agent. */
async function work({ workspaceId, userId, role }: MemberPrincipal): Promise<void> {
  const id = newId();
  await database.prisma.withWorkspace({ workspaceId }, async (tx) => {
    await tx.thread.create({ data: { workspaceId, id, createdBy: userId } });
    const job = {
      workspaceId,
      id,
      kind: 'chat',
      threadId: id,
      createdBy: userId,
      principal: `user:${userId}`,
      model: 'm',
      input: {},
    };
    await tx.job.create({ data: job });
    await tx.message.create({ data: { workspaceId, id, threadId: id, position: 1, role: 'user', content: 'hello' } });
    const call = {
      workspaceId,
      id,
      jobId: id,
      round: 1,
      ordinal: 1,
      callId: 'c',
      name: 't',
      arguments: '{}',
      effect: 'pure',
      idemKey: id,
    };
    await tx.toolCall.create({ data: call });
    await tx.interrupt.create({
      data: { workspaceId, id, jobId: id, kind: 'human_input', title: 't', request: {}, requester: userId },
    });
    await tx.notification.create({ data: { workspaceId, id, userId, type: 'job_completed', jobId: id } });
    const channel = {
      workspaceId,
      kind: 'email',
      address: 'a@example.org',
      events: [],
      enabled: true,
      includeTitle: false,
    };
    const since = { activeSince: new Date(), createdBy: `user:${userId}` };
    for (const owner of [userId, null])
      await tx.notificationChannel.create({ data: { ...channel, ...since, id: newId(), userId: owner } });
    const offer = { email: `${id}@example.org`, role: 'owner', expiresAt: new Date(8.64e14) };
    await tx.invitation.create({ data: { workspaceId, id, invitedBy: userId, ...offer } });
    const key = { workspaceId, id, userId, name: role, prefix: id, hash: new Uint8Array(32), scopes: ['read'] };
    await tx.apiKey.create({ data: key });
    await tx.modelProvider.create({
      data: { workspaceId, id, name: id, baseUrl: 'https://m.example', defaultModel: 'm' },
    });
    await tx.workspaceTool.create({ data: { workspaceId, id, name: id } });
    const secret = { workspaceId, id, name: id, cipher: new Uint8Array(40), createdBy: `user:${userId}` };
    await tx.workspaceSecret.create({ data: secret });
    const endpoint = { workspaceId, id: newId(), url: 'https://example.com/', description: '', events: ['job.failed'] };
    const settings = { enabled: true, signature: 'standard', headers: {}, onlyUnwatched: false, includeContent: false };
    const sealed = { secretCipher: new Uint8Array([1]), createdBy: 'system' };
    await tx.webhookEndpoint.create({ data: { ...endpoint, ...settings, ...sealed } });
    const server = { workspaceId, id, name: id, transport: 'http', settings: {}, createdBy: `user:${userId}` };
    await tx.mcpServer.create({ data: server });
    const connection = { workspaceId, id, name: id, settings: {}, createdBy: `user:${userId}` };
    await tx.syntrixConnection.create({ data: connection });
    const file = { hash: `${id}${id}`.replaceAll('-', ''), mime: 'text/plain', bytes: 1, store: 'postgres' };
    await tx.storedFile.create({ data: { workspaceId, id, ...file, createdBy: userId, keptUntil: new Date() } });
    const workflow = { workspaceId, id, name: id, draft: '{}', draftHash: '', createdBy: `user:${userId}` };
    await tx.workflow.create({ data: workflow });
    const slots = { cron: '0 7 * * *', timeZone: 'UTC', missed: 'once', prompt: '', enabled: false };
    const saved = { createdBy: `user:${userId}`, savedBy: `user:${userId}`, userId };
    await tx.schedule.create({ data: { workspaceId, id, chat: {}, ...slots, ...saved } });
    await tx.agent.create({
      data: { workspaceId, id, name: id, slug: id, description: '', createdBy: `user:${userId}` },
    });
  });
}

/** Every row of both workspaces, read without CASL. */
async function everything(subject: ScopedSubject): Promise<Row[]> {
  const halves = worlds.map(({ owner }) => database.prisma.withWorkspace(owner, (tx) => READS[subject](tx, {})));
  return (await Promise.all(halves)).flat();
}

/** What the filter leaves of both workspaces, so that a filter too wide cannot hide behind row-level security. */
async function filtered(subject: ScopedSubject, scope: Scope): Promise<Row[]> {
  const where = { AND: [scope.where(subject)] };
  const halves = worlds.map(({ owner }) => database.prisma.withWorkspace(owner, (tx) => READS[subject](tx, where)));
  return (await Promise.all(halves)).flat();
}

function allowed(ability: AppAbility, subject: ScopedSubject, row: Row): boolean {
  // Rows straight from their table have every column of that subject.
  return ability.can('read', asSubject(subject, row as never));
}

const keyOf = (row: Row) => JSON.stringify([row['workspaceId'], row['id'] ?? row['userId']]);

async function expectSame(principal: Principal): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const subject of SUBJECTS) {
    const byCan = (await everything(subject)).filter((row) => allowed(abilityOf(principal), subject, row));
    const byWhere = await filtered(subject, scopeOf(principal));
    expect(byWhere.map(keyOf).sort()).toEqual(byCan.map(keyOf).sort());
    expect(byWhere.every((row) => [row['workspaceId'], row['id']].includes(principal.workspaceId))).toBe(true);
    counts[subject] = byWhere.length;
  }
  return counts;
}

const RUNNING = {
  Workspace: 0,
  Membership: 0,
  Invitation: 0,
  ApiKey: 0,
  ModelProvider: 0,
  WorkspaceTool: 0,
  WorkspaceSecret: 0,
  WebhookEndpoint: 0,
  SyntrixConnection: 0,
  NotificationChannel: 0,
};
const NONE = {
  ...RUNNING,
  ...{ McpServer: 0, Thread: 0, Message: 0, Job: 0, ToolCall: 0, Interrupt: 0, Notification: 0, AuditEntry: 0 },
  ...{ Workflow: 0, Agent: 0, Trigger: 0, Schedule: 0, StoredFile: 0 },
};
const SYSTEM = {
  ...NONE,
  ...{ Thread: 2, Message: 2, Job: 2, ToolCall: 2, Interrupt: 2, Workflow: 2, Agent: 2, Schedule: 2, StoredFile: 2 },
};
const WORK = { ...SYSTEM, McpServer: 2 };
const ADMINS = {
  Workspace: 1,
  Membership: 4,
  Invitation: 2,
  ApiKey: 2,
  ModelProvider: 2,
  WorkspaceTool: 2,
  WorkspaceSecret: 2,
  WebhookEndpoint: 2,
  SyntrixConnection: 2,
  AuditEntry: 7,
  NotificationChannel: 2,
};
const ALL = { ...WORK, ...ADMINS };
/** Only the creators of jobs have notifications and channels. */
const OWN = { Notification: 1, NotificationChannel: 1 };
const INBOX: Record<Role, object> = { owner: OWN, admin: {}, member: OWN, viewer: {} };

describe('can() and the Prisma filter of an ability', () => {
  it.each<[Role, Record<string, number>]>([
    ['owner', { ...ALL, Notification: 1, NotificationChannel: 3 }],
    ['admin', ALL],
    ['member', { ...WORK, ...OWN, ApiKey: 1 }],
    ['viewer', WORK],
  ])('agree row by row: %s', async (role, expected) => {
    for (const world of worlds) expect(await expectSame(world[role])).toEqual(expected);
  });

  it('agree for the system', async () => {
    expect(await expectSame(systemPrincipal(worlds[0]?.owner.workspaceId ?? ''))).toEqual(SYSTEM);
  });

  it('agree for API keys, and return no rows without a permission', async () => {
    for (const role of ROLES) {
      const principal = worlds[0]?.[role];
      if (principal === undefined) throw new Error('two worlds are made above');
      const withScopes = (scopes: typeof principal.scopes) =>
        expectSame(keyPrincipal({ ...principal, keyId: newId(), prefix: 'p', scopes, expiresAt: null }));
      expect(await withScopes([])).toEqual(NONE);
      expect(await withScopes(['write', 'approve'])).toEqual(NONE);
      expect(await withScopes(['read'])).toEqual({ ...WORK, ...INBOX[role] });
      // Rights that no key has are rights to change; reading is the same.
      expect(await withScopes(KEY_SCOPES)).toEqual(await expectSame(principal));
    }
  });
});

describe('row-level security with CASL off', () => {
  const OF_ADMINS = [
    'membership',
    'invitation',
    'api_key',
    'model_provider',
    'workspace_tool',
    'workspace_secret',
    'mcp_server',
    'syntrix_connection',
    'notification_channel',
    'audit_entry',
  ];
  const TABLES = [...OF_ADMINS, 'thread', 'message', 'job', 'tool_call', 'workflow', 'agent'];
  const [red, blue] = [() => worlds[0]?.owner.workspaceId ?? '', () => worlds[1]?.owner.workspaceId ?? ''];

  it.each(TABLES)('shows one workspace no row of the other: %s', async (table) => {
    const { postgres } = database;
    const seen = await postgres.withWorkspaceSql(red(), (client) =>
      client.query<{ workspace_id: string }>(`SELECT workspace_id FROM ${table}`),
    );
    expect(new Set(seen.rows.map((row) => row.workspace_id))).toEqual(new Set([red()]));
    const asked = await postgres.withWorkspaceSql(red(), (client) =>
      client.query(`SELECT FROM ${table} WHERE workspace_id = $1`, [blue()]),
    );
    expect(asked.rowCount).toBe(0);
  });

  it.each([...TABLES, 'workspace', 'app_user'])(
    'shows nothing without a workspace, also on a used connection: %s',
    async (table) => {
      for (let i = 0; i < 12; i++) expect((await database.postgres.api.query(`SELECT FROM ${table}`)).rowCount).toBe(0);
    },
  );

  it('refuses a write into the other workspace', async () => {
    const insert = database.postgres.withWorkspaceSql(red(), (client) =>
      client.query(`INSERT INTO membership (workspace_id, user_id, role) VALUES ($1, $2, 'owner')`, [
        blue(),
        worlds[0]?.owner.userId,
      ]),
    );
    await expect(insert).rejects.toThrow(/row-level security/);
    const update = await database.postgres.withWorkspaceSql(red(), (client) =>
      client.query(`UPDATE api_key SET revoked_at = now() WHERE workspace_id = $1`, [blue()]),
    );
    expect(update.rowCount).toBe(0);
  });

  it('shows only users of shared workspaces', async () => {
    const { rows } = await database.postgres.withWorkspaceSql(red(), (client) =>
      client.query<{ email: string }>('SELECT email FROM app_user'),
    );
    expect(rows.map(({ email }) => email).sort()).toEqual([...ROLES].map((role) => `red-${role}@example.org`).sort());
  });
});
