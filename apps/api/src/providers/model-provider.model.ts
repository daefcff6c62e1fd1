import { Field, ID, InputType, ObjectType } from '@nestjs/graphql';

import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { UserError } from '../graphql/user-error.model.js';

/** A place to ask for models that a workspace has set up. */
@ObjectType('ModelProvider', {
  description: 'A place to ask for models that the workspace has set up, without its key.',
})
export class ModelProviderModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => String, { description: 'Its name, unique in the workspace.' })
  name!: string;

  @Field(() => String, { description: 'Where it is: the part before `/chat/completions`.' })
  baseUrl!: string;

  @Field(() => String, { description: 'The model used when a request names none.' })
  defaultModel!: string;

  @Field(() => String, { nullable: true, description: 'The last four characters of its key; null when it needs none.' })
  keyHint!: string | null;

  @Field(() => Boolean, { description: "Whether the workspace's jobs use it." })
  isDefault!: boolean;

  @Field(() => DateTime, { description: 'When it was set up.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it last changed.' })
  updatedAt!: number;
}

@InputType({ description: 'A provider to set up. The first of a workspace becomes its default.' })
export class CreateModelProviderInput {
  @Field(() => String, { description: 'Its name, 1 to 100 characters, unique in the workspace.' })
  name!: string;

  @Field(() => String, { description: 'http(s), the part before `/chat/completions`.' })
  baseUrl!: string;

  @Field(() => String, { description: 'The model used when a request names none.' })
  defaultModel!: string;

  @Field(() => String, {
    nullable: true,
    description: 'Its key; stored encrypted, never shown again. Absent: it needs none.',
  })
  apiKey?: string | null;

  @Field(() => Boolean, { nullable: true, description: "Whether the workspace's jobs use it from now on." })
  isDefault?: boolean | null;
}

@InputType({ description: 'What changes about a provider; what is absent stays.' })
export class UpdateModelProviderInput {
  @Field(() => ID, { description: 'Which provider.' })
  id!: string;

  @Field(() => String, { nullable: true, description: 'Its name.' })
  name?: string | null;

  @Field(() => String, { nullable: true, description: 'Where it is. Another host needs the key again.' })
  baseUrl?: string | null;

  @Field(() => String, { nullable: true, description: 'The model used when a request names none.' })
  defaultModel?: string | null;

  @Field(() => String, { nullable: true, description: 'Its new key; null takes the key away.' })
  apiKey?: string | null;
}

@InputType({ description: 'Which provider.' })
export class ModelProviderRefInput {
  @Field(() => ID, { description: 'The provider.' })
  id!: string;
}

@ObjectType({ description: 'The provider as it is now (or was, when deleted), or why nothing changed.' })
export class ModelProviderPayload {
  @Field(() => ModelProviderModel, { nullable: true, description: 'The provider.' })
  modelProvider?: ModelProviderModel | null;

  @Field(() => [UserError], { description: 'Why nothing changed.' })
  userErrors!: UserError[];
}
