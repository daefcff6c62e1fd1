import { Field, ID, InputType, Int, ObjectType } from '@nestjs/graphql';

import { InterruptDecisionEnum } from '#jobs/api';
import { defineEnum, Json, UserError } from '#platform/api';

import type { HumanInputAction } from '../../interrupts/human-input-interrupt.js';

/** The GraphQL names of the actions on a form. */
const InterruptActionEnum = defineEnum(
  'InterruptAction',
  'The action on a HUMAN_INPUT request. `request.actions` lists the allowed ones. SUBMIT delivers the event of a WAIT.',
  {
    APPROVE: ['approve', 'Continues. `data`, if given, replaces the input.'],
    REJECT: ['reject', 'Rejects the request.'],
    SUBMIT: ['submit', 'Answers with `data`.'],
    MODIFY: [
      'modify',
      'Continues with `data` instead of the shown value, or with the shown value if `data` is absent.',
    ],
    SKIP: ['skip', 'Skips the question. Not allowed if `request.dataRequired` is true.'],
    CUSTOM: ['custom', "One of the request's own options, in `data`."],
  },
) satisfies Record<Uppercase<HumanInputAction>, HumanInputAction>;

@InputType({ description: 'A decision on one request. The kind of the request determines the allowed fields.' })
export class ResolveInterruptInput {
  @Field(() => ID, { description: 'The request.' })
  id!: string;

  @Field(() => InterruptDecisionEnum, {
    nullable: true,
    description: 'The decision, for every kind except HUMAN_INPUT and WAIT.',
  })
  decision?: string | null;

  @Field(() => String, {
    nullable: true,
    description:
      'TOOL_APPROVAL: the `request.argumentsHash` that was shown. The approval is valid for these arguments only.',
  })
  argumentsHash?: string | null;

  @Field(() => Json, {
    nullable: true,
    description: 'TOOL_APPROVAL: an object that replaces all arguments. Absent: the arguments as shown.',
  })
  arguments?: unknown;

  @Field(() => String, { nullable: true, description: 'The reason, at most 500 characters. The model may read it.' })
  reason?: string | null;

  @Field(() => Int, {
    nullable: true,
    description: 'TOOL_APPROVAL: for 5, 10 or 30 minutes this operation needs no further approval in this thread.',
  })
  grantMinutes?: number | null;

  @Field(() => InterruptActionEnum, {
    nullable: true,
    description: 'HUMAN_INPUT: the action. WAIT: SUBMIT.',
  })
  action?: string | null;

  @Field(() => Json, {
    nullable: true,
    description:
      'HUMAN_INPUT: the submitted data, valid against `request.inputSchema`. WAIT: the payload of the event.',
  })
  data?: unknown;

  @Field(() => Json, {
    nullable: true,
    description: 'UNKNOWN_OUTCOME with HAPPENED: the result of the call, text or JSON of at most 256 KiB.',
  })
  result?: unknown;
}

@ObjectType({ description: 'The request after the decision, or the reasons why the decision was refused.' })
export class ResolveInterruptPayload {
  @Field(() => [UserError], {
    description: 'The reasons why the decision was refused. Empty if it was accepted, now or earlier.',
  })
  userErrors!: UserError[];
}
