import type { Clock } from '#platform';

import { prefixOf } from '../api-keys/api-key-codec.js';
import type { IdentityRepository } from '../identity.repository.js';
import { type UserPrincipal, userPrincipal } from '../principal.js';
import type { WorkspacesService } from './workspaces.service.js';

/** The user and the workspace that must exist. */
export interface Seed {
  readonly email: string;
  readonly userName: string;
  readonly workspaceName: string;
}

/** Ensures that an installation has a first user and workspace. For launchers only: it checks no ability. */
export class WorkspaceSeeder {
  constructor(
    private readonly identities: IdentityRepository,
    private readonly workspaces: WorkspacesService,
    private readonly clock: Clock,
  ) {}

  /**
   * Finds or creates the user, and the first workspace that they own. The returned principal is the owner's and expires after a minute, which
   * is enough to create a first API key. `created`: whether the workspace is new. A second call finds the same workspace.
   */
  async ensure(seed: Seed): Promise<{ readonly principal: UserPrincipal; readonly created: boolean }> {
    const email = seed.email.toLowerCase();
    const userId = await this.identities.userByEmail({ email, name: seed.userName });
    const expiresAt = this.clock.now() + 60_000;
    const user = await this.identities.user(userId);
    const owned = user?.memberships.find(({ role }) => role === 'owner');
    const workspaceId = owned?.workspaceId ?? (await this.make(userId, seed.workspaceName));
    return {
      principal: userPrincipal({ workspaceId, userId, role: 'owner', expiresAt }),
      created: owned === undefined,
    };
  }

  /** Whether the database has a key with the prefix of `text`, and that key is revoked. */
  async isRevoked(text: string): Promise<boolean> {
    const prefix = prefixOf(text);
    const [key = null] = prefix === null ? [] : await this.identities.keysByPrefix([prefix]);
    return key !== null && key.revokedAt !== null;
  }

  private async make(userId: string, name: string): Promise<string> {
    const identity = {
      id: `user:${userId}` as const,
      userId,
      scopes: ['admin'] as const,
      workspaceId: null,
      expiresAt: null,
    };
    return (await this.workspaces.create(identity, { name })).id;
  }
}
