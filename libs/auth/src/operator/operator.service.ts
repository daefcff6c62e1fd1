import { z } from 'zod';

import { isId, newId, type Page, type PrismaTransaction, systemClock } from '#platform';

import type { ApiKey } from '../api-keys/api-keys.repository.js';
import type { ApiKeysService, NewApiKeyInput } from '../api-keys/api-keys.service.js';
import { alreadyMember, invalidInput, notFound } from '../auth.errors.js';
import type { IdentityRepository } from '../identity.repository.js';
import { parseInput } from '../parse-input.js';
import { type Role, ROLES, userPrincipal } from '../principal.js';
import type { MembersService } from '../workspaces/members.service.js';
import type { MembershipChanges } from '../workspaces/membership-changes.js';
import type { Member, MembershipsRepository } from '../workspaces/memberships.repository.js';
import { newWorkspaceInput, type Workspace } from '../workspaces/workspace.js';
import type { WorkspacesService } from '../workspaces/workspaces.service.js';
import type { ListedUser, ListedWorkspace, OperatorDirectory } from './operator-directory.repository.js';

/** The actor of the audit entries, like `user:<id>` and `key:<id>`. */
const OPERATOR = 'operator';

const address = z
  .string()
  .trim()
  .max(320)
  .pipe(z.email())
  .transform((email) => email.toLowerCase());
const userInput = z.strictObject({ email: address, name: z.string().trim().max(320).default('') });
const memberInput = z.strictObject({ email: address, role: z.enum(ROLES) });

/** Dependencies of `OperatorService`. */
export interface OperatorParts {
  readonly directory: OperatorDirectory;
  readonly identities: IdentityRepository;
  readonly memberships: MembershipsRepository;
  readonly changes: MembershipChanges;
  readonly members: MembersService;
  readonly workspaces: WorkspacesService;
  readonly apiKeys: ApiKeysService;
}

/**
 * What the operator of an installation may do with workspaces, users, members and keys. Checks no ability: the caller has the migrating login
 * and the installation's secret. Every change is audited as `operator`.
 */
export class OperatorService {
  constructor(private readonly parts: OperatorParts) {}

  listWorkspaces(): Promise<ListedWorkspace[]> {
    return this.parts.directory.workspaces();
  }

  listUsers(): Promise<ListedUser[]> {
    return this.parts.directory.users();
  }

  /** Returns the user with this address, and creates an unknown one. A person who signs in with this verified address becomes this user. */
  async createUser(input: { readonly email: string; readonly name?: string | undefined }): Promise<{ id: string }> {
    return { id: await this.parts.identities.userByEmail(parseInput(userInput, input)) };
  }

  /** Creates a workspace whose owner is the user with this address. An unknown user is created. */
  async createWorkspace(input: { readonly name: string; readonly owner: string }): Promise<Workspace> {
    const { name } = parseInput(newWorkspaceInput, { name: input.name });
    const { id: userId } = await this.createUser({ email: input.owner });
    const identity = { id: `user:${userId}`, userId, scopes: ['admin'], workspaceId: null, expiresAt: null } as const;
    return this.parts.workspaces.create(identity, { name }, OPERATOR);
  }

  async listMembers(workspaceId: string): Promise<readonly Member[]> {
    const { members } = this.parts;
    const page = (after: string | undefined) => members.list(this.ownerOf(workspaceId), { first: 100, after });
    await this.assertWorkspace(workspaceId);
    return everyPage(page, ({ userId }) => userId);
  }

  /** Makes the user with this address a member at once. An unknown user is created. */
  async addMember(workspaceId: string, input: { readonly email: string; readonly role: Role }): Promise<Member> {
    const { email, role } = parseInput(memberInput, input);
    await this.assertWorkspace(workspaceId);
    const userId = await this.parts.identities.userByEmail({ email, name: '' });
    const key = { workspaceId, userId };
    return this.parts.changes.in(workspaceId, async (tx) => {
      if ((await this.parts.memberships.find(tx, key)) !== null) throw alreadyMember();
      const member = await this.parts.memberships.insert(tx, key, role);
      await this.audit(tx, workspaceId, { action: 'member-added', subjectId: userId, details: { role } });
      return member;
    });
  }

  /** Throws `not_found`, `last_owner`. */
  async changeRole(workspaceId: string, input: { readonly email: string; readonly role: Role }): Promise<Member> {
    const { email, role } = parseInput(memberInput, input);
    const { userId } = await this.member(workspaceId, email);
    return this.parts.members.changeRoleAs(OPERATOR, { workspaceId, userId, role });
  }

  /** Removes the member and revokes their keys of the workspace. Throws `not_found`, `last_owner`. */
  async removeMember(workspaceId: string, email: string): Promise<Member> {
    const { userId } = await this.member(workspaceId, email);
    return this.parts.members.removeAs(OPERATOR, { workspaceId, userId });
  }

  async listKeys(workspaceId: string): Promise<readonly ApiKey[]> {
    await this.assertWorkspace(workspaceId);
    const page = (after: string | undefined) =>
      this.parts.apiKeys.list(this.ownerOf(workspaceId), { first: 100, after });
    return everyPage(page, ({ id }) => id);
  }

  /** Creates a key that acts as the member with this address, within that member's role. `text` is never shown again. */
  async createKey(
    workspaceId: string,
    { email, ...input }: NewApiKeyInput & { readonly email: string },
  ): Promise<{ readonly key: ApiKey; readonly text: string }> {
    const { userId, role } = await this.member(workspaceId, email);
    const principal = userPrincipal({ workspaceId, userId, role, expiresAt: Number.MAX_SAFE_INTEGER });
    return this.parts.apiKeys.createAs(OPERATOR, principal, input);
  }

  /** Throws `not_found`. */
  async revokeKey(workspaceId: string, id: string): Promise<ApiKey> {
    await this.assertWorkspace(workspaceId);
    return this.parts.apiKeys.revokeAs(OPERATOR, this.ownerOf(workspaceId), id);
  }

  private async member(workspaceId: string, email: string): Promise<{ userId: string; role: Role }> {
    await this.assertWorkspace(workspaceId);
    const userId = await this.parts.directory.userIdOf(parseInput(address, email));
    const role = userId === null ? null : await this.parts.directory.roleOf(workspaceId, userId);
    if (userId === null || role === null) throw notFound('Membership');
    return { userId, role };
  }

  private async assertWorkspace(id: string): Promise<void> {
    if (!isId(id))
      throw invalidInput('workspace', 'workspace must be the id of a workspace, as `workspaces list` shows it');
    if (!(await this.parts.directory.hasWorkspace(id))) throw notFound('Workspace');
  }

  /** A principal with all rights of an owner for one minute, without a real user. It lists keys and members, and revokes keys. */
  private ownerOf(workspaceId: string) {
    return userPrincipal({ workspaceId, userId: newId(), role: 'owner', expiresAt: systemClock.now() + 60_000 });
  }

  private audit(
    tx: PrismaTransaction,
    workspaceId: string,
    entry: { action: string; subjectId: string; details: Record<string, string> },
  ): Promise<void> {
    return this.parts.changes.audit(tx, { workspaceId, actor: OPERATOR }, { ...entry, subjectType: 'Membership' });
  }
}

async function everyPage<T>(
  read: (after: string | undefined) => Promise<Page<T>>,
  idOf: (row: T) => string,
): Promise<T[]> {
  const rows: T[] = [];
  for (let more = true; more;) {
    const last = rows.at(-1);
    const page = await read(last === undefined ? undefined : idOf(last));
    rows.push(...page.items);
    more = page.hasMore;
  }
  return rows;
}
