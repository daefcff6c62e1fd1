import { Args, Context, Mutation, Query, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { Secret } from '#platform';
import { listCost, toPayload } from '#platform/api';

import type { WorkspaceSecret } from '../../secrets/workspace-secret.js';
import { WorkspaceSecrets } from '../../secrets/workspace-secrets.service.js';
import {
  RemoveWorkspaceSecretInput,
  SetWorkspaceSecretInput,
  WorkspaceSecretModel,
  WorkspaceSecretPayload,
} from './workspace-secret.model.js';

/** Lists, sets and removes the secrets of a workspace. */
@Resolver(() => WorkspaceSecretModel)
export class WorkspaceSecretsResolver {
  constructor(private readonly secrets: WorkspaceSecrets) {}

  @RequireAbility('manage', 'WorkspaceSecret')
  @Query(() => [WorkspaceSecretModel], {
    description: 'The secrets of the workspace by name, at most 100. Requires the role admin.',
    complexity: listCost(20),
  })
  workspaceSecrets(@Context() { member }: GraphqlContext): Promise<readonly WorkspaceSecret[]> {
    return this.secrets.list(member);
  }

  @RequireAbility('manage', 'WorkspaceSecret')
  @Mutation(() => WorkspaceSecretPayload, { description: 'Stores a secret. Replaces an existing one of that name.' })
  setWorkspaceSecret(
    @Args('input', { type: () => SetWorkspaceSecretInput, description: 'The secret.' })
    { name, value }: SetWorkspaceSecretInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ secret: await this.secrets.set(member, name, new Secret(value)) }));
  }

  @RequireAbility('manage', 'WorkspaceSecret')
  @Mutation(() => WorkspaceSecretPayload, { description: 'Removes a secret. Tools that name it fail from then on.' })
  removeWorkspaceSecret(
    @Args('input', { type: () => RemoveWorkspaceSecretInput, description: 'The secret.' })
    { name }: RemoveWorkspaceSecretInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ secret: await this.secrets.remove(member, name) }));
  }
}
