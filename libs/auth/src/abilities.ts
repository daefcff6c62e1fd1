import { type Ability, createAliasResolver, type RawRuleOf, subject } from '@casl/ability';
import { createPrismaAbility, type Model, type PrismaQueryOf, type Subjects } from '@casl/prisma/runtime';

import type { Prisma, ScopedSubject } from '#platform';

import type { KeyScope, Principal, Role } from './principal.js';

/** The columns of a row of each subject that the rules below compare. A check of a row must supply them. */
export type SubjectRow = {
  Workspace: { id: string };
  Membership: { workspaceId: string; userId: string; role: string };
  Invitation: { workspaceId: string; role: string };
  ApiKey: { workspaceId: string; userId: string };
  ModelProvider: { workspaceId: string };
  WorkspaceTool: { workspaceId: string };
  WorkspaceSecret: { workspaceId: string };
  WebhookEndpoint: { workspaceId: string };
  McpServer: { workspaceId: string };
  SyntrixConnection: { workspaceId: string };
  Workflow: { workspaceId: string };
  Agent: { workspaceId: string };
  /** `createdBy`: the user who uploaded it first, or whose job made it. */
  StoredFile: { workspaceId: string; createdBy: string | null };
  Trigger: { workspaceId: string };
  /** `userId`: the user who saved it last. A schedule of a workflow belongs to its workflow instead. */
  Schedule: { workspaceId: string; userId: string | null };
  Thread: { workspaceId: string; createdBy: string };
  Message: { workspaceId: string };
  Job: { workspaceId: string; createdBy: string | null };
  /** `createdBy`: the user whose job requested the call. */
  ToolCall: { workspaceId: string; createdBy?: string | null };
  /** `requester`: the user who started the root job. */
  Interrupt: { workspaceId: string; requester?: string | null };
  Notification: { workspaceId: string; userId: string };
  /** `userId` null: the channel receives the notifications of all users. */
  NotificationChannel: { workspaceId: string; userId: string | null };
  AuditEntry: { workspaceId: string };
  /** A feature flag as a member of the workspace sees it. Its table belongs to no workspace, so it is never part of a filter. */
  FeatureFlag: { workspaceId: string };
  /** A tool of the registry, built-in or of the workspace. It has no table, so it is never part of a filter. */
  Tool: { workspaceId: string };
};

/** The kinds of rows that rights apply to. */
export type AbilitySubject = keyof SubjectRow;

/**
 * The actions. `change` covers `cancel`, `retry` and `rename`. `manage` covers every action. `chat`: start a job that reads a thread's
 * messages into a prompt. `survey`: list calls across jobs, and read one of them whole. `publish`: send changes of documents, which fire
 * triggers.
 */
export type Action =
  | 'read'
  | 'create'
  | 'change'
  | 'cancel'
  | 'retry'
  | 'rename'
  | 'chat'
  | 'delete'
  | 'approve'
  | 'survey'
  | 'publish'
  | 'manage';

type Conditions = PrismaQueryOf<Prisma.TypeMap, Model<object, string>>;
/** Decides `can(action, row)`, and gives the Prisma filter of the same rows (`accessibleWhere`). */
export type AppAbility = Ability<[Action, 'all' | Subjects<SubjectRow>], Conditions>;

const WORK: ScopedSubject[] = [
  'Thread',
  'Message',
  'Job',
  'ToolCall',
  'Interrupt',
  'Workflow',
  'Agent',
  'Schedule',
  'StoredFile',
];
const BELOW_OWNER = { in: ['admin', 'member', 'viewer'] };
const BELOW_ADMIN = { in: ['member', 'viewer'] };

// ---- The rules read like sentences. `read`, `write`, `admin` and `approve` are scopes: a token has all of them, an API key has those that
// ---- its creator chose. `person` is the scope `admin` of a token, which no API key has: a leaked key must not be able to change roles,
// ---- make owners or admins, or end the access of others. An action without a rule is denied. Every condition names the workspace.

function viewer({ read, write, here, mine, myInbox }: Grants): void {
  read.can('read', WORK, here);
  read.can('read', ['Tool', 'FeatureFlag'], here);
  read.can('survey', ['ToolCall'], mine);
  read.can('read', ['Notification'], myInbox);
  read.can('change', ['Notification'], myInbox); // for marking as read
  read.can('read', ['NotificationChannel'], myInbox);
  write.can('change', ['NotificationChannel'], myInbox); // includes creation and removal
  read.can('read', ['McpServer'], here); // names and tools; only those who manage it may read its URL and headers
}

function member(grants: Grants): void {
  const { write, admin, approve, here, mine, myRequests, myKeys, mySchedules } = grants;
  viewer(grants);
  write.can('create', ['Thread', 'Job'], mine);
  write.can('change', ['Thread', 'Job'], mine);
  write.can('change', ['Schedule'], mySchedules); // when the member's own chats start
  write.can('create', ['StoredFile'], mine);
  write.can('delete', ['StoredFile'], mine);
  write.can('create', ['Workflow'], here);
  write.can('change', ['Workflow'], here); // every member edits drafts; only those who manage workflows publish them
  write.can('chat', ['Thread'], mine); // messages of one member's thread must not enter a prompt of another member without a grant
  approve.can('approve', ['Interrupt'], myRequests);
  approve.can('approve', ['ToolCall'], mine); // if the policy lets the requester decide
  admin.can('manage', ['ApiKey'], myKeys);
}

function administrator(grants: Grants): void {
  const { write, admin, person, approve, here, thisWorkspace } = grants;
  member(grants); // includes `chat` with `mine`: an admin, too, chats only in threads of their own
  write.can('change', ['Thread', 'Job'], here);
  write.can('change', ['Schedule'], here);
  write.can('delete', ['StoredFile'], here);
  approve.can('approve', ['ToolCall', 'Interrupt'], here);
  admin.can('survey', ['ToolCall'], here);
  admin.can('read', ['Workspace'], thisWorkspace);
  admin.can('change', ['Workspace'], thisWorkspace);
  admin.can('read', ['Membership', 'Invitation', 'AuditEntry'], here);
  admin.can('create', ['Invitation'], { ...here, role: BELOW_ADMIN });
  admin.can('delete', ['Membership', 'Invitation'], { ...here, role: BELOW_ADMIN });
  person.can('manage', ['Membership', 'Invitation'], { ...here, role: BELOW_OWNER });
  admin.can('read', ['ApiKey'], here);
  person.can('delete', ['ApiKey'], here); // only `delete`: an admin who created a key for another user could act as that user
  admin.can('manage', ['ModelProvider', 'WorkspaceTool', 'WorkspaceSecret', 'McpServer', 'Workflow', 'Agent'], here);
  admin.can('manage', ['WebhookEndpoint'], here); // includes the log of deliveries
  admin.can('manage', ['NotificationChannel'], { ...here, userId: null });
  admin.can('manage', ['SyntrixConnection'], here);
  admin.can('manage', ['Trigger'], here);
  write.can('publish', ['Trigger'], here); // the key of a database needs only this scope
}

function owner(grants: Grants): void {
  const { admin, person, here, thisWorkspace } = grants;
  administrator(grants);
  admin.can('manage', ['Workspace'], thisWorkspace);
  person.can('manage', ['Membership', 'Invitation'], here);
}

function system({ read, write, here }: Grants): void {
  read.can('read', WORK, here);
  write.can('change', ['Thread', 'Job'], here);
}

const RULES_OF: Record<Role, (grants: Grants) => void> = { owner, admin: administrator, member, viewer };

/** The scopes that a role can use. A key cannot have others. */
export const SCOPES_OF: Record<Role, readonly KeyScope[]> = {
  owner: ['read', 'write', 'admin', 'approve'],
  admin: ['read', 'write', 'admin', 'approve'],
  member: ['read', 'write', 'approve'],
  viewer: ['read'],
};

// ---- How the rules become an ability.

type Where = Readonly<Record<string, unknown>>;

interface Granter {
  can(action: Action, subjects: AbilitySubject[], conditions: Where): void;
}

interface Grants extends Readonly<Record<KeyScope | 'person', Granter>> {
  readonly here: Where;
  readonly thisWorkspace: Where;
  readonly mine: Where;
  readonly myKeys: Where;
  readonly myInbox: Where;
  readonly mySchedules: Where;
  readonly myRequests: Where;
}

/** Creates the ability of a principal. Pure: it depends only on the principal. */
export function defineAbility(principal: Principal): AppAbility {
  const rules: RawRuleOf<AppAbility>[] = [];
  const granter = (scope: KeyScope, isGiven = true): Granter => ({
    can: (action, subjects, conditions) => {
      if (!isGiven || !principal.scopes.includes(scope)) return;
      // The conditions are Prisma filters of these subjects; a db-spec runs each of them against real rows.
      rules.push({ action, subject: subjects, conditions });
    },
  });
  const { workspaceId, userId } = principal;
  const grants: Grants = {
    read: granter('read'),
    write: granter('write'),
    admin: granter('admin'),
    approve: granter('approve'),
    person: granter('admin', principal.kind === 'user'),
    here: { workspaceId },
    thisWorkspace: { id: workspaceId },
    mine: { workspaceId, createdBy: userId },
    myKeys: { workspaceId, userId },
    myInbox: { workspaceId, userId },
    mySchedules: { workspaceId, userId },
    myRequests: { workspaceId, requester: userId },
  };
  (principal.role === null ? system : RULES_OF[principal.role])(grants);
  const ability = createPrismaAbility<AppAbility>(rules, { resolveAction: CHANGE_COVERS });
  principals.set(ability, principal);
  return ability;
}

const principals = new WeakMap<AppAbility, Principal>();

/** The principal of an ability, for the message of a refusal. */
export function principalOf(ability: AppAbility): Principal | undefined {
  return principals.get(ability);
}

const CHANGE_COVERS = createAliasResolver({ change: ['cancel', 'retry', 'rename'] });

/** A row with its CASL subject type. */
export type NamedSubject = Exclude<Subjects<SubjectRow>, string>;

/** Returns a copy of the row with its subject, for `ability.can`. */
export function asSubject<T extends AbilitySubject>(type: T, row: SubjectRow[T]): NamedSubject {
  // TypeScript cannot infer from the type parameter that the result is a member of the union.
  return subject(type, { ...row }) as unknown as NamedSubject;
}
