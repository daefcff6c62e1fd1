import { Args, Context, Mutation, ResolveField, Resolver } from '@nestjs/graphql';

import { abilityOf, assertCan, type MemberPrincipal } from '#auth';
import { type GraphqlContext, RequireAbility, WorkspaceModel } from '#auth/api';
import { Secret } from '#platform';
import { listCost, toPayload } from '#platform/api';

import type { ModelProvider } from '../providers/model-provider.js';
import { ModelProvidersService } from '../providers/model-providers.service.js';
import {
  CreateModelProviderInput,
  ModelProviderModel,
  ModelProviderPayload,
  ModelProviderRefInput,
  UpdateModelProviderInput,
} from './model-provider.model.js';

/** Reads and changes the model providers of a workspace. */
@Resolver(() => WorkspaceModel)
export class ModelProvidersResolver {
  constructor(private readonly providers: ModelProvidersService) {}

  @ResolveField(() => [ModelProviderModel], {
    description: 'Its model providers, oldest first.',
    complexity: listCost(10),
  })
  modelProviders(_: unknown, __: unknown, { scope }: GraphqlContext): Promise<readonly ModelProvider[]> {
    return this.providers.list(scope);
  }

  @RequireAbility('manage', 'ModelProvider')
  @Mutation(() => ModelProviderPayload, { description: 'Creates a model provider.' })
  createModelProvider(
    @Args('input', { type: () => CreateModelProviderInput, description: 'The provider.' })
    input: CreateModelProviderInput,
    @Context() { member, scope }: GraphqlContext,
  ) {
    const { apiKey, isDefault, ...texts } = input;
    const fresh = { ...texts, apiKey: apiKey == null ? null : new Secret(apiKey), isDefault: isDefault ?? undefined };
    return changed(member, () => this.providers.create(scope, fresh));
  }

  @RequireAbility('manage', 'ModelProvider')
  @Mutation(() => ModelProviderPayload, { description: 'Updates a model provider.' })
  updateModelProvider(
    @Args('input', { type: () => UpdateModelProviderInput, description: 'The changes.' })
    input: UpdateModelProviderInput,
    @Context() { member, scope }: GraphqlContext,
  ) {
    const { id, name, baseUrl, defaultModel, apiKey } = input;
    const texts = { name: name ?? undefined, baseUrl: baseUrl ?? undefined, defaultModel: defaultModel ?? undefined };
    const key = apiKey == null ? apiKey : new Secret(apiKey);
    return changed(member, () => this.providers.update(scope, id, { ...texts, apiKey: key }));
  }

  @RequireAbility('manage', 'ModelProvider')
  @Mutation(() => ModelProviderPayload, { description: 'Deletes a model provider and its key.' })
  deleteModelProvider(
    @Args('input', { type: () => ModelProviderRefInput, description: 'The provider to act on.' })
    { id }: ModelProviderRefInput,
    @Context() { member, scope }: GraphqlContext,
  ) {
    return changed(member, () => this.providers.delete(scope, id));
  }

  @RequireAbility('manage', 'ModelProvider')
  @Mutation(() => ModelProviderPayload, { description: 'Makes a provider the default of the workspace.' })
  setDefaultModelProvider(
    @Args('input', { type: () => ModelProviderRefInput, description: 'The provider to act on.' })
    { id }: ModelProviderRefInput,
    @Context() { member, scope }: GraphqlContext,
  ) {
    return changed(member, () => this.providers.setDefault(scope, id));
  }
}

/** Checks that the member may manage providers, then runs `write`. */
function changed(member: MemberPrincipal, write: () => Promise<ModelProvider>) {
  return toPayload(async () => {
    const { workspaceId } = member;
    assertCan(abilityOf(member), { action: 'manage', subject: 'ModelProvider', row: { workspaceId } });
    return { modelProvider: await write() };
  });
}
