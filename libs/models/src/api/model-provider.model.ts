import { Field, ID, InputType, ObjectType } from '@nestjs/graphql';

import { DateTime, payloadOf } from '#platform/api';

/** A model provider of a workspace, without its key. */
@ObjectType('ModelProvider', {
  description: 'A model provider of the workspace, without its key.',
})
export class ModelProviderModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => String, { description: 'Its name, unique in the workspace.' })
  name!: string;

  @Field(() => String, { description: 'Its base URL, the part before `/chat/completions`.' })
  baseUrl!: string;

  @Field(() => String, { description: 'The model used when a request names none.' })
  defaultModel!: string;

  @Field(() => String, { nullable: true, description: 'The last four characters of its key. Null: no key.' })
  keyHint!: string | null;

  @Field(() => Boolean, { description: "Whether the workspace's jobs use it." })
  isDefault!: boolean;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it last changed.' })
  updatedAt!: number;
}

@InputType({ description: 'The provider to create. The first of a workspace becomes its default.' })
export class CreateModelProviderInput {
  @Field(() => String, { description: 'Its name, 1 to 100 characters, unique in the workspace.' })
  name!: string;

  @Field(() => String, { description: 'http(s), the part before `/chat/completions`.' })
  baseUrl!: string;

  @Field(() => String, { description: 'The model used when a request names none.' })
  defaultModel!: string;

  @Field(() => String, {
    nullable: true,
    description: 'Its API key, stored encrypted and never shown again. Absent: it needs none.',
  })
  apiKey?: string | null;

  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether it becomes the default provider, which the jobs of the workspace use.',
  })
  isDefault?: boolean | null;
}

@InputType({ description: 'The changes of a provider. Absent fields do not change.' })
export class UpdateModelProviderInput {
  @Field(() => ID, { description: 'The provider to act on.' })
  id!: string;

  @Field(() => String, { nullable: true, description: 'Its name.' })
  name?: string | null;

  @Field(() => String, { nullable: true, description: 'Its base URL. A new host requires the key again.' })
  baseUrl?: string | null;

  @Field(() => String, { nullable: true, description: 'The model used when a request names none.' })
  defaultModel?: string | null;

  @Field(() => String, { nullable: true, description: 'Its new key. Null removes the key.' })
  apiKey?: string | null;
}

@InputType({ description: 'The provider to act on.' })
export class ModelProviderRefInput {
  @Field(() => ID, { description: 'The provider.' })
  id!: string;
}

export const ModelProviderPayload = payloadOf({
  name: 'ModelProviderPayload',
  description: 'The provider after the change (before it, if deleted), or the reasons why nothing changed.',
  fields: { modelProvider: [ModelProviderModel, 'The provider.'] },
});
