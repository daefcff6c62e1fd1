export { isMarkedAuthenticated, markAuthenticated } from './authenticated-requests.js';
export { credentialsOf } from './credentials-of.js';
export { CurrentPrincipal } from './current-principal.js';
export { byId, byOwner, FeatureLoaders, maxBatchSize, valueOf } from './feature-loaders.js';
export { FeatureFlagsApiModule } from './flags/feature-flags-api.module.js';
export { GraphqlContext } from './graphql-context.js';
export { PrincipalGuard, type RefusedCall } from './principal.guard.js';
export {
  Public,
  publicKey,
  ReadsOwnBody,
  RequireAbility,
  RequireAuthentication,
  requiredAbilityKey,
  requiredAuthenticationKey,
} from './require-ability.js';
export { RefusedField, ResolverGuard } from './resolver.guard.js';
export { type AccessWatch, type LostReason, ViewerAccess } from './viewer-access.js';
export { Viewers } from './viewers.js';
export { ViewersModule } from './viewers.module.js';
export { WhenBusyEnum } from './workspaces/start-policy.enums.js';
export { MemberRoleEnum, WorkspaceModel } from './workspaces/workspace.model.js';
export { WorkspacesApiModule } from './workspaces/workspaces-api.module.js';
