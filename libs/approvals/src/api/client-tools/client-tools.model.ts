import { Field, ID, ObjectType } from '@nestjs/graphql';

import { ToolCallStatusEnum } from '#jobs/api';
import { DateTime, Json, UserError } from '#platform/api';

@ObjectType({ description: 'The exclusive right of one client to run a call.' })
export class ClientToolClaim {
  @Field(() => String, { description: 'Required to validate and to submit. Returned only once.' })
  claimToken!: string;

  @Field(() => String, { description: 'The call.' })
  callId!: string;

  @Field(() => String, { description: 'Name of the tool.' })
  name!: string;

  @Field(() => String, { description: 'The arguments to run the call with, as JSON text.' })
  arguments!: string;

  @Field(() => Json, { description: 'The tool as it was declared.' })
  definition!: unknown;

  @Field(() => ID, { nullable: true, description: 'The thread: server id, or the id of the client.' })
  threadId!: string | null;

  @Field(() => ID, {
    nullable: true,
    description: 'The assistant message of the job: server id, or the id of the client.',
  })
  messageId!: string | null;

  @Field(() => DateTime, { description: 'The deadline to validate the claim or submit the result.' })
  expiresAt!: number;
}

@ObjectType({ isAbstract: true })
class ClientToolPayload {
  @Field(() => ToolCallStatusEnum, { nullable: true, description: 'After a conflict: the status of the call.' })
  callStatus?: string | null;

  @Field(() => [UserError], { description: 'The reasons why nothing changed.' })
  userErrors!: UserError[];
}

@ObjectType({ description: 'The claim, or the reasons why it was refused.' })
export class ClaimClientToolPayload extends ClientToolPayload {
  @Field(() => ClientToolClaim, { nullable: true, description: 'The claim.' })
  claim?: ClientToolClaim | null;
}

@ObjectType({ description: 'Whether the tool may run.' })
export class ValidateClientToolPayload extends ClientToolPayload {
  @Field(() => Boolean, { nullable: true, description: 'True: run the tool now. Otherwise do not run it.' })
  valid?: boolean | null;

  @Field(() => DateTime, { nullable: true, description: 'The deadline for the result.' })
  expiresAt?: number | null;
}

@ObjectType({ description: 'Whether the result was accepted.' })
export class SubmitClientToolResultPayload extends ClientToolPayload {
  @Field(() => Boolean, { nullable: true, description: 'True: accepted, now or by an earlier identical submission.' })
  accepted?: boolean | null;
}
