import type { Clock } from '#platform';

import { prefixOf } from '../api-keys/api-key-codec.js';
import type { IdentityRepository } from '../identity.repository.js';
import { type UserPrincipal, userPrincipal } from '../principal.js';
import type { WorkspacesService } from './workspaces.service.js';

/** The workspace that must be there, and whose it is. */
export interface Seed {
  readonly email: string;
  readonly userName: string;
  readonly workspaceName: string;
}

/** Makes sure that an installation has a first user and workspace. For launchers only: it checks no ability. */
export class WorkspaceSeeder {
  constructor(
    private readonly identities: IdentityRepository,
    private readonly workspaces: WorkspacesService,
    private readonly clock: Clock,
  ) {}

  /**
   * Finds, or makes, the user and the first workspace it owns. The principal is the owner's and lasts a minute: enough to
   * make a first API key. `created` is whether the workspace is new. Calling it again finds the same one.
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

  /** Whether the database has the key with the prefix of `text`, revoked. */
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
