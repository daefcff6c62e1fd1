import { Field, ID, ObjectType } from '@nestjs/graphql';

import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { Json } from '../graphql/scalars/json.scalar.js';
import { UserError } from '../graphql/user-error.model.js';
import { ToolCallStatusEnum } from '../jobs/job.enums.js';

/** A call that this client, and no other, may now serve. */
@ObjectType({ description: 'A call that this client, and no other, may now serve.' })
export class ClientToolClaim {
  @Field(() => String, { description: 'Needed to validate and to submit; told once.' })
  claimToken!: string;

  @Field(() => String, { description: 'The call.' })
  callId!: string;

  @Field(() => String, { description: 'Name of the tool.' })
  name!: string;

  @Field(() => String, { description: 'JSON text, as it is to be run.' })
  arguments!: string;

  @Field(() => Json, { description: 'The tool as it was declared.' })
  definition!: unknown;

  @Field(() => ID, { nullable: true, description: 'The thread: our id, or the one the client gave it.' })
  threadId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The message that is being written: our id, or the client’s.' })
  messageId!: string | null;

  @Field(() => DateTime, { description: 'Until when it has to be validated, or its result submitted.' })
  expiresAt!: number;
}

@ObjectType({ isAbstract: true })
class ClientToolPayload {
  @Field(() => ToolCallStatusEnum, { nullable: true, description: 'After a conflict: where the call stands.' })
  callStatus?: string | null;

  @Field(() => [UserError], { description: 'Why nothing was changed.' })
  userErrors!: UserError[];
}

@ObjectType({ description: 'The claim, or why there is none.' })
export class ClaimClientToolPayload extends ClientToolPayload {
  @Field(() => ClientToolClaim, { nullable: true, description: 'The claim.' })
  claim?: ClientToolClaim | null;
}

@ObjectType({ description: 'Whether the tool may be run.' })
export class ValidateClientToolPayload extends ClientToolPayload {
  @Field(() => Boolean, { nullable: true, description: 'True: run it now. Anything else: do not.' })
  valid?: boolean | null;

  @Field(() => DateTime, { nullable: true, description: 'Until when the result is waited for.' })
  expiresAt?: number | null;
}

@ObjectType({ description: 'Whether the result was taken.' })
export class SubmitClientToolResultPayload extends ClientToolPayload {
  @Field(() => Boolean, { nullable: true, description: 'True: it was, now or by the same submission before.' })
  accepted?: boolean | null;
}
