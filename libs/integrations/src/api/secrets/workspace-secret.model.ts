import { Field, InputType, ObjectType } from '@nestjs/graphql';

import { DateTime, payloadOf } from '#platform/api';

@ObjectType('WorkspaceSecret', {
  description: 'A secret that tools of the workspace can use. Its value is never returned.',
})
export class WorkspaceSecretModel {
  @Field(() => String, { description: 'Its name. Tools refer to it as `{{secret:NAME}}`.' })
  name!: string;

  @Field(() => String, { description: 'Who set it last: `user:<id>` or `key:<id>`.' })
  setBy!: string;

  @Field(() => DateTime, { description: 'When it was first set.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it was last set.' })
  updatedAt!: number;
}

@InputType({ description: 'A secret to keep.' })
export class SetWorkspaceSecretInput {
  @Field(() => String, { description: 'Its name: a letter, then letters, digits and `_`, 64 at most.' })
  name!: string;

  @Field(() => String, { description: 'Its value, 8 to 8,192 characters; stored encrypted, never shown again.' })
  value!: string;
}

@InputType({ description: 'The secret to remove.' })
export class RemoveWorkspaceSecretInput {
  @Field(() => String, { description: 'Its name.' })
  name!: string;
}

export const WorkspaceSecretPayload = payloadOf({
  name: 'WorkspaceSecretPayload',
  description: 'The secret after the change (before it, if removed), or the reasons why nothing changed.',
  fields: { secret: [WorkspaceSecretModel, 'The secret, without its value.'] },
});
