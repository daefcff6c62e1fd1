import { Field, ID, ObjectType } from '@nestjs/graphql';

import { DecidableByEnum, InterruptKindEnum, InterruptStatusEnum } from '#jobs/api';
import { connectionOf, DateTime, Json, Node } from '#platform/api';

/** One request to a person or a client. `InterruptFieldsResolver` adds the computed fields. */
@ObjectType('Interrupt', {
  implements: () => [Node],
  description: 'A request that a job waits for. It is settled once, by its own id.',
})
export class InterruptModel extends Node {
  @Field(() => ID, { description: 'Its id, the same in every API.' })
  id!: string;

  @Field(() => InterruptKindEnum, { description: 'The kind of the request: what decision or result the job needs.' })
  kind!: string;

  @Field(() => InterruptStatusEnum, { description: 'Its current state.' })
  status!: string;

  @Field(() => ID, { description: 'The job that waits.' })
  jobId!: string;

  @Field(() => ID, { description: 'The root job. Equals `jobId` unless that job is a sub-job.' })
  rootJobId!: string;

  @Field(() => ID, { nullable: true, description: 'The thread of the root job (server id).' })
  threadId!: string | null;

  @Field(() => String, { nullable: true, description: 'The tool of the call.' })
  tool!: string | null;

  @Field(() => ID, { nullable: true, description: 'The tool call (server id).' })
  toolCallId!: string | null;

  @Field(() => String, { nullable: true, description: 'The call id that the model uses.' })
  callId!: string | null;

  @Field(() => [String], { description: 'Its place in a workflow: the enclosing nodes, outermost first.' })
  path!: string[];

  @Field(() => String, { description: 'A one-line title.' })
  title!: string;

  @Field(() => Json, { description: 'The content of the request, by kind, as first shown.' })
  request!: unknown;

  @Field(() => ID, { nullable: true, description: 'The user who started the root job. Null: no user did.' })
  requester!: string | null;

  @Field(() => DecidableByEnum, { description: 'Who may decide it.' })
  decidableBy!: string;

  @Field(() => Boolean, { description: 'Whether the requester may not decide it.' })
  fourEyes!: boolean;

  @Field(() => Boolean, { description: 'Whether only an approver may decide, regardless of `decidableBy`.' })
  adminRequired!: boolean;

  @Field(() => String, {
    nullable: true,
    description: 'Who decided: `user:<id>` or `key:<id>`. Null: no decision was made.',
  })
  decidedBy!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When it was settled.' })
  decidedAt!: number | null;

  @Field(() => DateTime, { description: 'When it was opened.' })
  createdAt!: number;

  @Field(() => DateTime, { nullable: true, description: 'When it expires. Null: never.' })
  expiresAt!: number | null;
}

/** A page of requests. */
export const InterruptConnection = connectionOf(InterruptModel, 'Interrupt');
