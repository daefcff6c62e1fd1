import { ArgsType, Field, ID, InputType, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf } from '../graphql/connections/connection.model.js';
import { ForwardPageArgs } from '../graphql/connections/page.args.js';
import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { UserError } from '../graphql/user-error.model.js';

@ObjectType('ApprovalGrant', {
  description: 'A person\'s "yes, for the next minutes": to one operation, in one thread, for one requester.',
})
export class ApprovalGrantModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => ID, { description: 'The thread it holds in (our id).' })
  threadId!: string;

  @Field(() => ID, { description: 'The user whose calls it approves.' })
  requester!: string;

  @Field(() => String, { nullable: true, description: 'The agent whose calls it approves; null: no agent.' })
  agent!: string | null;

  @Field(() => String, {
    description: 'The tool, or the part of what the tool does, and a mark of the tool as it was.',
  })
  operation!: string;

  @Field(() => Int, { description: 'The version of the policy it was given under; it ends with it.' })
  policyVersion!: number;

  @Field(() => ID, { description: 'The request it was given with.' })
  interruptId!: string;

  @Field(() => String, { description: 'Who gave it: `user:<id>` or `key:<id>`.' })
  grantedBy!: string;

  @Field(() => DateTime, { description: 'When it was given.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it ends by itself.' })
  expiresAt!: number;

  @Field(() => DateTime, { nullable: true, description: 'When somebody ended it, by hand or by changing the policy.' })
  revokedAt!: number | null;

  @Field(() => String, { nullable: true, description: 'Who did.' })
  revokedBy!: string | null;

  @Field(() => Boolean, { description: 'Whether it approves calls now.' })
  isActive!: boolean;
}

export const ApprovalGrantConnection = connectionOf(ApprovalGrantModel, 'ApprovalGrant');

@InputType({ description: 'Which grants a list shows; every member narrows it.' })
class ApprovalGrantFilterInput {
  @Field(() => ID, { nullable: true, description: 'By thread (our id).' })
  threadId?: string | null;

  @Field(() => Boolean, { nullable: true, description: 'True: only those that approve calls now.' })
  isActive?: boolean | null;
}

@ArgsType()
export class ApprovalGrantsArgs extends ForwardPageArgs {
  @Field(() => ApprovalGrantFilterInput, { nullable: true, description: 'Which grants; absent: all that one may see.' })
  filter?: ApprovalGrantFilterInput | null;
}

@InputType({ description: 'Which grant ends.' })
export class RevokeApprovalGrantInput {
  @Field(() => ID, { description: 'The grant.' })
  id!: string;
}

@ObjectType({ description: 'The grant as it is now, or why nothing changed.' })
export class ApprovalGrantPayload {
  @Field(() => ApprovalGrantModel, { nullable: true, description: 'The grant.' })
  approvalGrant?: ApprovalGrantModel | null;

  @Field(() => [UserError], { description: 'Why nothing changed.' })
  userErrors!: UserError[];
}
