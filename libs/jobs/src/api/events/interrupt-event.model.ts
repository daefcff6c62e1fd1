import { Field, ID, ObjectType } from '@nestjs/graphql';

import { DateTime, Json } from '#platform/api';

import { InterruptKindEnum } from '../interrupt.enums.js';
import { JobEventEntry } from './job-event-entry.model.js';

@ObjectType({
  implements: () => [JobEventEntry],
  description:
    'The job needs a decision or a result from outside. Settle the request with `resolveInterrupt`; a client settles a client tool call with `submitClientToolResult`.',
})
export class InterruptOpenedEvent extends JobEventEntry {
  @Field(() => ID, { description: 'The id to settle it with.' })
  interruptId!: string;

  @Field(() => InterruptKindEnum, { description: 'The kind of the request: what decision or result the job needs.' })
  kind!: string;

  @Field(() => String, { nullable: true, description: 'The call id that the model uses.' })
  callId!: string | null;

  @Field(() => String, { nullable: true, description: 'The workflow node that waits.' })
  nodeId!: string | null;

  @Field(() => String, { description: 'A one-line title.' })
  title!: string;

  @Field(() => DateTime, { nullable: true, description: 'When it expires. Null: never.' })
  expiresAt!: number | null;

  @Field(() => Json, { description: 'The content of the request, by kind.' })
  request!: unknown;
}

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'A request to a person is still open. Sent once a day.',
})
export class InterruptReminderEvent extends JobEventEntry {
  @Field(() => ID, { description: 'The id to settle it with.' })
  interruptId!: string;

  @Field(() => InterruptKindEnum, { description: 'The kind of the request: what decision or result the job needs.' })
  kind!: string;

  @Field(() => String, { description: 'A one-line title.' })
  title!: string;

  @Field(() => DateTime, { nullable: true, description: 'When it expires. Null: never.' })
  expiresAt!: number | null;
}

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'A request was settled by a decision, a result or its expiry, or because its job or node ended.',
})
export class InterruptResolvedEvent extends JobEventEntry {
  @Field(() => ID, { description: 'The request.' })
  interruptId!: string;

  @Field(() => String, {
    description: 'The outcome, such as `approved`, `denied`, `expired`, or the action of a person.',
  })
  outcome!: string;

  @Field(() => String, {
    nullable: true,
    description: 'Who decided: `user:<id>` or `key:<id>`. Null: no decision was made.',
  })
  decidedBy!: string | null;

  @Field(() => DateTime, { description: 'When it was settled.' })
  decidedAt!: number;
}
