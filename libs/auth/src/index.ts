export { type AbilitySubject, type Action, type AppAbility, asSubject, type SubjectRow } from './abilities.js';
export { abilityOf, assertCan, type Question, scopeOf } from './ability.factory.js';
export type { ApiKey } from './api-keys/api-keys.repository.js';
export { ApiKeysService, type NewApiKeyInput } from './api-keys/api-keys.service.js';
export { type Auth, type AuthInit, openAuth } from './authentication/auth.js';
export { forbidden, notFound, unauthenticated } from './auth.errors.js';
export { AuthModule } from './auth.module.js';
export { Authenticator, type Credentials } from './authentication/authenticator.service.js';
export {
  FLAG_NAME,
  type FeatureFlag,
  type FlagCaller,
  MAX_FLAG_NAME_LENGTH,
  ROLLOUT_UNITS,
} from './flags/feature-flag.js';
export { FeatureFlagsModule } from './flags/feature-flags.module.js';
export { FeatureFlags } from './flags/feature-flags.service.js';
export { OperatorFlags } from './flags/operator-flags.js';
export type { Identity } from './identity.js';
export type { MembershipRecord, ReceivedInvitation } from './identity.repository.js';
export { type FetchKeys, TOKEN_CLAIMS } from './jwt-verifier.js';
export { OperatorDirectory } from './operator/operator-directory.repository.js';
export type { OperatorService } from './operator/operator.service.js';
export {
  KEY_SCOPES,
  type KeyPrincipal,
  type KeyScope,
  type MemberPrincipal,
  type Principal,
  type Role,
  ROLES,
  type SystemPrincipal,
  systemPrincipal,
  type UserPrincipal,
} from './principal.js';
export { PrincipalsModule } from './principals.module.js';
export { PrincipalsRepository } from './principals.repository.js';
export type { Invitation } from './workspaces/invitations.repository.js';
export { InvitationsService } from './workspaces/invitations.service.js';
export { MembersService } from './workspaces/members.service.js';
export type { Member } from './workspaces/memberships.repository.js';
export { WHEN_BUSY, type Workspace, type WorkspaceChanges } from './workspaces/workspace.js';
export type { Seed } from './workspaces/workspace-seeder.js';
export { type Me, WorkspacesService } from './workspaces/workspaces.service.js';
