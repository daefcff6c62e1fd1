import { Context, Query, Resolver } from '@nestjs/graphql';

import { listCost } from '#platform/api';

import { FeatureFlags, type FlagState } from '../../flags/feature-flags.service.js';
import { GraphqlContext } from '../graphql-context.js';
import { RequireAbility } from '../require-ability.js';
import { FeatureFlagModel } from './feature-flag.model.js';

/** Reads which feature flags are on for the caller. */
@Resolver(() => FeatureFlagModel)
export class FeatureFlagsResolver {
  constructor(private readonly flags: FeatureFlags) {}

  @RequireAbility('read', 'FeatureFlag')
  @Query(() => [FeatureFlagModel], {
    description:
      'All feature flags of the installation by name, at most 100, and whether each is on for the caller. A change takes effect within a second.',
    complexity: listCost(100),
  })
  featureFlags(@Context() { member }: GraphqlContext): Promise<readonly FlagState[]> {
    return this.flags.list(member);
  }
}
