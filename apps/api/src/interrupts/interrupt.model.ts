import { Field, ID, ObjectType } from '@nestjs/graphql';

import { connectionOf } from '../graphql/connections/connection.model.js';
import { Node } from '../graphql/node/node.model.js';
import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { Json } from '../graphql/scalars/json.scalar.js';
import { DecidableByEnum, InterruptKindEnum, InterruptStatusEnum } from './interrupt.enums.js';

/** One request to somebody outside. What is computed is added by `InterruptFieldsResolver`. */
@ObjectType('Interrupt', {
  implements: () => [Node],
  description: 'Something a job waits for from outside, or did: each is settled once, by its own id.',
})
export class InterruptModel extends Node {
  @Field(() => ID, { description: 'The id it is answered by, at every door.' })
  id!: string;

  @Field(() => InterruptKindEnum, { description: 'What is asked for.' })
  kind!: string;

  @Field(() => InterruptStatusEnum, { description: 'Where it stands.' })
  status!: string;

  @Field(() => ID, { description: 'The job that waits.' })
  jobId!: string;

  @Field(() => ID, { description: 'The job that a person started: the same one, unless that one is a sub-job.' })
  rootJobId!: string;

  @Field(() => ID, { nullable: true, description: 'The thread of the job (our id); of a sub-job, that of its root.' })
  threadId!: string | null;

  @Field(() => String, { nullable: true, description: 'The tool it is about.' })
  tool!: string | null;

  @Field(() => ID, { nullable: true, description: 'The tool call it is about (our id).' })
  toolCallId!: string | null;

  @Field(() => String, { nullable: true, description: 'The same call, by the id the model knows it by.' })
  callId!: string | null;

  @Field(() => [String], { description: 'Where in a workflow: the nodes around it, outermost first.' })
  path!: string[];

  @Field(() => String, { description: 'What is asked, in a line.' })
  title!: string;

  @Field(() => Json, { description: 'What is asked, by kind, as it was first shown.' })
  request!: unknown;

  @Field(() => ID, { nullable: true, description: 'The user who started the root job; null: nobody did.' })
  requester!: string | null;

  @Field(() => DecidableByEnum, { description: 'Who may decide it.' })
  decidableBy!: string;

  @Field(() => Boolean, { description: 'Whether the requester may not decide it.' })
  fourEyes!: boolean;

  @Field(() => Boolean, { description: 'Whether it takes an approver, whatever `decidableBy` says.' })
  adminRequired!: boolean;

  @Field(() => String, { nullable: true, description: 'Who decided: `user:<id>` or `key:<id>`; null: nobody.' })
  decidedBy!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When it was settled.' })
  decidedAt!: number | null;

  @Field(() => DateTime, { description: 'When it was opened.' })
  createdAt!: number;

  @Field(() => DateTime, { nullable: true, description: 'When it ends unanswered; null: never.' })
  expiresAt!: number | null;
}

/** A page of requests. */
export const InterruptConnection = connectionOf(InterruptModel, 'Interrupt');
