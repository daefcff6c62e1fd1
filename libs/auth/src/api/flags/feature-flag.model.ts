import { Field, ObjectType } from '@nestjs/graphql';

/** A feature flag as the caller sees it. */
@ObjectType('FeatureFlag', {
  description: 'A feature that the operator turns on for some workspaces or users, with its state for the caller.',
})
export class FeatureFlagModel {
  @Field(() => String, { description: 'Its name, as in `new-search`.' })
  name!: string;

  @Field(() => Boolean, { description: 'Whether it is on for the caller in this workspace.' })
  enabled!: boolean;
}
