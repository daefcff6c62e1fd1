import { Field, ID, InputType, Int, ObjectType } from '@nestjs/graphql';

import { Json } from '../graphql/scalars/json.scalar.js';
import { UserError } from '../graphql/user-error.model.js';
import { InterruptActionEnum, InterruptDecisionEnum } from './interrupt.enums.js';

/** An answer. Which members it takes depends on the kind of the request. */
@InputType({ description: 'An answer to one request. Which members count depends on its kind.' })
export class ResolveInterruptInput {
  @Field(() => ID, { description: 'The request.' })
  id!: string;

  @Field(() => InterruptDecisionEnum, {
    nullable: true,
    description: 'What is decided; for every kind but HUMAN_INPUT and WAIT.',
  })
  decision?: string | null;

  @Field(() => String, {
    nullable: true,
    description:
      'TOOL_APPROVAL: the `request.argumentsHash` that was shown; an approval holds for these arguments only.',
  })
  argumentsHash?: string | null;

  @Field(() => Json, {
    nullable: true,
    description: 'TOOL_APPROVAL: an object that replaces all arguments; absent: they stay as they were shown.',
  })
  arguments?: unknown;

  @Field(() => String, { nullable: true, description: 'Why; at most 500 characters. The model may read it.' })
  reason?: string | null;

  @Field(() => Int, {
    nullable: true,
    description: 'TOOL_APPROVAL: 5, 10 or 30 minutes in which this operation need not ask again in this thread.',
  })
  grantMinutes?: number | null;

  @Field(() => InterruptActionEnum, {
    nullable: true,
    description: 'HUMAN_INPUT: what is done with the question. WAIT: SUBMIT.',
  })
  action?: string | null;

  @Field(() => Json, {
    nullable: true,
    description: 'HUMAN_INPUT: what was filled in; must fit `request.inputSchema`. WAIT: what comes with the event.',
  })
  data?: unknown;

  @Field(() => Json, {
    nullable: true,
    description: 'UNKNOWN_OUTCOME: what the call gave, when it HAPPENED; text or JSON of at most 256 KiB.',
  })
  result?: unknown;
}

/** What became of an answer. */
@ObjectType({ description: 'The request after the answer, or why the answer was not taken.' })
export class ResolveInterruptPayload {
  @Field(() => [UserError], { description: 'Why the answer was not taken; empty when it was, now or before.' })
  userErrors!: UserError[];
}
