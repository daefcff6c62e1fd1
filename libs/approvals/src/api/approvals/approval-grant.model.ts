import { ArgsType, Field, ID, InputType, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime, ForwardPageArgs, payloadOf } from '#platform/api';

@ObjectType('ApprovalGrant', {
  description: 'A time-limited approval of one operation, in one thread, for one requester.',
})
export class ApprovalGrantModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => ID, { description: 'The thread that it is valid in (server id).' })
  threadId!: string;

  @Field(() => ID, { description: 'The user whose calls it approves.' })
  requester!: string;

  @Field(() => String, { nullable: true, description: 'The agent whose calls it approves; null: no agent.' })
  agent!: string | null;

  @Field(() => String, {
    description:
      'The approved operation: the tool, or one operation of it, followed by a fingerprint of the tool when the grant was given. The grant does not apply to a changed tool.',
  })
  operation!: string;

  @Field(() => Int, {
    description: 'The version of the approval policy when the grant was given. The grant ends when the policy changes.',
  })
  policyVersion!: number;

  @Field(() => ID, { description: 'The request that it was given with.' })
  interruptId!: string;

  @Field(() => String, { description: 'Who gave it: `user:<id>` or `key:<id>`.' })
  grantedBy!: string;

  @Field(() => DateTime, { description: 'When it was given.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it expires.' })
  expiresAt!: number;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When it was revoked, by a person or by a change of the policy.',
  })
  revokedAt!: number | null;

  @Field(() => String, { nullable: true, description: 'Who revoked it.' })
  revokedBy!: string | null;

  @Field(() => Boolean, { description: 'Whether it approves calls now.' })
  isActive!: boolean;
}

export const ApprovalGrantConnection = connectionOf(ApprovalGrantModel, 'ApprovalGrant');

@InputType({ description: 'Filters for grants. All given fields must match.' })
class ApprovalGrantFilterInput {
  @Field(() => ID, { nullable: true, description: 'By thread (server id).' })
  threadId?: string | null;

  @Field(() => Boolean, { nullable: true, description: 'True: only those that approve calls now.' })
  isActive?: boolean | null;
}

@ArgsType()
export class ApprovalGrantsArgs extends ForwardPageArgs {
  @Field(() => ApprovalGrantFilterInput, {
    nullable: true,
    description: 'Filters. Absent: all grants that the caller may see.',
  })
  filter?: ApprovalGrantFilterInput | null;
}

@InputType({ description: 'The grant to revoke.' })
export class RevokeApprovalGrantInput {
  @Field(() => ID, { description: 'The grant.' })
  id!: string;
}

export const ApprovalGrantPayload = payloadOf({
  name: 'ApprovalGrantPayload',
  description: 'The grant after the change, or the reasons why nothing changed.',
  fields: { approvalGrant: [ApprovalGrantModel, 'The grant.'] },
});
