import { appendAudit, type Bus, type Config, newId, type PrismaService } from '#platform';

import { abilityOf, assertCan, scopeOf } from '../ability.factory.js';
import type { ApiKey } from '../api-keys/api-keys.repository.js';
import type { ApiKeysService } from '../api-keys/api-keys.service.js';
import {
  aboveCeiling,
  forbidden,
  limitReached,
  notFound,
  toolIsolationRefused,
  unauthenticated,
} from '../auth.errors.js';
import type { Identity } from '../identity.js';
import type { IdentityRepository, MembershipRecord } from '../identity.repository.js';
import { parseInput } from '../parse-input.js';
import { type MemberPrincipal, userPrincipal } from '../principal.js';
import type { MembershipsRepository } from './memberships.repository.js';
import { newWorkspaceInput, type Workspace, type WorkspaceChanges, workspaceChanges } from './workspace.js';
import type { WorkspacesRepository } from './workspaces.repository.js';

/** The caller and their memberships. */
export interface Me {
  readonly id: Identity['id'];
  readonly user: { readonly id: string; readonly email: string; readonly name: string };
  /** An API key sees its own workspace only. */
  readonly memberships: readonly MembershipRecord[];
}

/** The tables behind workspaces. */
export interface WorkspaceTables {
  readonly workspaces: WorkspacesRepository;
  readonly memberships: MembershipsRepository;
}

/** Dependencies of `WorkspacesService`. */
export interface WorkspacesServiceParts {
  readonly prisma: PrismaService;
  readonly identities: IdentityRepository;
  readonly tables: WorkspaceTables;
  readonly bus: Bus;
  readonly apiKeys: ApiKeysService;
  readonly config: Config;
}

/** The first key of a new workspace; `text` is never shown again. */
export interface FirstKey {
  readonly key: ApiKey;
  readonly text: string;
}

/** Creates workspaces and changes their settings, and reads the caller's memberships. */
export class WorkspacesService {
  private readonly prisma: PrismaService;
  private readonly tables: WorkspaceTables;

  constructor(private readonly parts: WorkspacesServiceParts) {
    this.prisma = parts.prisma;
    this.tables = parts.tables;
  }

  /** The caller and their memberships. Throws `unauthenticated` if the user was deleted. */
  async me(identity: Identity): Promise<Me> {
    const user = await this.parts.identities.user(identity.userId);
    if (user === null) throw unauthenticated();
    const narrowed = identity.id.startsWith('key:');
    const memberships = user.memberships.filter((m) => !narrowed || m.workspaceId === identity.workspaceId);
    return { id: identity.id, user: { id: user.id, email: user.email, name: user.name }, memberships };
  }

  /** Creates a workspace with the caller as its owner. An API key needs the scope `admin` (`forbidden`). Throws `limit_reached`. */
  async create(identity: Identity, input: { readonly name: string }, actor: string = identity.id): Promise<Workspace> {
    if (!identity.scopes.includes('admin'))
      throw forbidden('This API key cannot create workspaces: it lacks the scope "admin".');
    const { name } = parseInput(newWorkspaceInput, input);
    const workspaceId = newId();
    const { MAX_WORKSPACES_PER_USER: max } = this.parts.config.values;
    const made = await this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      if ((await this.tables.workspaces.countOwned(tx, identity.userId)) >= max)
        throw limitReached({
          ...{ setting: 'MAX_WORKSPACES_PER_USER', value: max, counts: 'workspaces that a user owns' },
          remedy: 'make another member owner of one',
        });
      const workspace = await this.tables.workspaces.insert(tx, { id: workspaceId, name });
      await this.tables.memberships.insert(tx, { workspaceId, userId: identity.userId }, 'owner');
      const subject = { subjectType: 'Workspace', subjectId: workspaceId };
      await appendAudit(tx, {
        workspaceId,
        actor,
        action: 'workspace-created',
        ...subject,
        details: { name },
      });
      return workspace;
    });
    this.parts.bus.publish('access-changed', { workspaceId });
    return made;
  }

  /**
   * Creates a workspace like `create`. An API key is valid only in its own workspace, so a caller with an API key also gets the first key of
   * the new workspace, with the same scopes and expiry; it is revoked with the caller's key. For a person `firstKey` is null.
   */
  async createWithKey(
    identity: Identity,
    input: { readonly name: string },
  ): Promise<{ readonly workspace: Workspace; readonly firstKey: FirstKey | null }> {
    const workspace = await this.create(identity, input);
    if (!identity.id.startsWith('key:')) return { workspace, firstKey: null };
    const firstKey = await this.firstKey(workspace.id, identity);
    return { workspace, firstKey };
  }

  private firstKey(workspaceId: string, maker: Identity): Promise<FirstKey> {
    const { userId, scopes, expiresAt } = maker;
    const owner = userPrincipal({ workspaceId, userId, role: 'owner', expiresAt: Number.MAX_SAFE_INTEGER });
    return this.parts.apiKeys.createFirst(maker, owner, { name: 'First key', scopes, expiresAt });
  }

  /** The principal's workspace. Throws `not_found` without the right to read it. */
  async get(principal: MemberPrincipal): Promise<Workspace> {
    const workspace = await this.prisma.withWorkspace(principal, (tx) =>
      this.tables.workspaces.find(tx, scopeOf(principal)),
    );
    if (workspace === null) throw notFound('Workspace');
    return workspace;
  }

  /**
   * Changes the name or settings of the principal's workspace; absent fields do not change. Throws `bad_request` (also for a cap above the
   * ceiling of the operator), `not_found`.
   */
  async update(principal: MemberPrincipal, input: WorkspaceChanges): Promise<Workspace> {
    const { workspaceId } = principal;
    assertCan(abilityOf(principal), { action: 'change', subject: 'Workspace', row: { id: workspaceId } });
    const changes = parseInput(workspaceChanges, input);
    this.assertBelowCeilings(changes);
    return this.prisma.withWorkspace(principal, async (tx) => {
      const workspace = await this.tables.workspaces.update(tx, workspaceId, changes);
      const subject = { subjectType: 'Workspace', subjectId: workspaceId };
      await appendAudit(tx, {
        workspaceId,
        actor: principal.id,
        action: 'workspace-changed',
        ...subject,
        details: changes,
      });
      return workspace;
    });
  }

  private assertBelowCeilings({ maxJobs = 1, maxJobsPerUser = 1, toolIsolation }: WorkspaceChanges): void {
    const { RUNNING_JOBS_CEILING, RUNNING_JOBS_PER_USER_CEILING } = this.parts.config.values;
    if (maxJobs > RUNNING_JOBS_CEILING) throw aboveCeiling('maxJobs', 'RUNNING_JOBS_CEILING', RUNNING_JOBS_CEILING);
    if (maxJobsPerUser > RUNNING_JOBS_PER_USER_CEILING)
      throw aboveCeiling('maxJobsPerUser', 'RUNNING_JOBS_PER_USER_CEILING', RUNNING_JOBS_PER_USER_CEILING);
    if (toolIsolation === 'queue' && this.parts.config.values.TOOL_ISOLATION_CEILING !== 'queue')
      throw toolIsolationRefused();
  }
}
