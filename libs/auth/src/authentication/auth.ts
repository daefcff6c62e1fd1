import { type Bus, type Clock, type Config, type Logger, type PrismaService, systemClock } from '#platform';

import { AccessCache } from '../access-cache.js';
import { ApiKeyAuthenticator } from '../api-keys/api-key-authenticator.js';
import { ApiKeyCodec } from '../api-keys/api-key-codec.js';
import { ApiKeysRepository } from '../api-keys/api-keys.repository.js';
import { ApiKeysService } from '../api-keys/api-keys.service.js';
import { IdentityRepository } from '../identity.repository.js';
import { type FetchKeys, JwtVerifier, type TokenRefusal } from '../jwt-verifier.js';
import { OperatorService } from '../operator/operator.service.js';
import type { OperatorDirectory } from '../operator/operator-directory.repository.js';
import { InvitationsRepository } from '../workspaces/invitations.repository.js';
import { InvitationsService } from '../workspaces/invitations.service.js';
import { MembersService } from '../workspaces/members.service.js';
import { MembershipChanges } from '../workspaces/membership-changes.js';
import { MembershipsRepository } from '../workspaces/memberships.repository.js';
import { WorkspaceSeeder } from '../workspaces/workspace-seeder.js';
import { WorkspacesRepository } from '../workspaces/workspaces.repository.js';
import { WorkspacesService } from '../workspaces/workspaces.service.js';
import { Authenticator } from './authenticator.service.js';

/** Dependencies and settings of `openAuth`. `Platform` contains most of them. */
export interface AuthInit {
  readonly config: Config;
  readonly prisma: PrismaService;
  readonly bus: Bus;
  /**
   * NIGHTSHIFT_SECRET, given or generated. It must be the same in every process; otherwise one process refuses API keys that another one
   * created.
   */
  readonly secret: string;
  /** Earlier secrets of the installation; API keys that were stored with them are still valid. */
  readonly previousSecrets?: readonly string[];
  /** Logs why a token was refused. */
  readonly logger?: Pick<Logger, 'warn' | 'info'>;
  /** Fetches JWT_JWKS_URL; the guarded outbound client in production. */
  readonly fetchKeys: FetchKeys;
  readonly clock?: Clock;
}

/** The services that authenticate callers and manage workspaces, members and keys. */
export interface Auth {
  readonly authenticator: Authenticator;
  readonly workspaces: WorkspacesService;
  readonly members: MembersService;
  readonly invitations: InvitationsService;
  readonly apiKeys: ApiKeysService;
  readonly seeder: WorkspaceSeeder;
  /** For the operator's command line; `directory` is its connection with the migrating login. */
  operator(directory: OperatorDirectory): OperatorService;
  /** Ends the subscriptions to the bus. */
  close(): void;
}

/** Creates the services of identity. Throws `ConfigError` if the JWT settings contradict each other. */
export function openAuth(init: AuthInit): Auth {
  const { config, prisma, bus, secret, previousSecrets, fetchKeys, logger, clock = systemClock } = init;
  const identities = new IdentityRepository(prisma);
  const access = new AccessCache(identities, bus, clock);
  const codec = new ApiKeyCodec(secret, previousSecrets);
  const keys = new ApiKeysRepository();
  const tables = {
    workspaces: new WorkspacesRepository(),
    memberships: new MembershipsRepository(),
    apiKeys: keys,
  };
  const changes = new MembershipChanges(prisma, tables, bus);
  const invitations = new InvitationsService({
    prisma,
    identities,
    memberships: tables.memberships,
    invitations: new InvitationsRepository(),
    changes,
    clock,
    ttlMs: config.values.INVITATION_TTL_MS,
  });
  const apiKeys = new ApiKeysService({ prisma, keys, codec, bus, clock, config });
  const workspaces = new WorkspacesService({ prisma, identities, tables, bus, apiKeys, config });
  const members = new MembersService(prisma, tables, changes);
  const refused = (refusal: TokenRefusal) => logger?.warn({ ...refusal }, 'a token was refused');
  const jwt = new JwtVerifier(config.values, { fetchKeys, clock, refused });
  const keyAuthenticator = new ApiKeyAuthenticator({ codec, access, identities, clock });
  return {
    authenticator: new Authenticator({ access, keys: keyAuthenticator, jwt, clock, logger }),
    workspaces,
    members,
    invitations,
    apiKeys,
    operator: (directory) =>
      new OperatorService({
        ...{ directory, identities, memberships: tables.memberships, changes },
        ...{ members, workspaces, apiKeys },
      }),
    seeder: new WorkspaceSeeder(identities, workspaces, clock),
    close: () => {
      access.close();
    },
  };
}
