import { Field, ID, ObjectType } from '@nestjs/graphql';

import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { Json } from '../graphql/scalars/json.scalar.js';
import { JobEventEntry } from '../jobs/job-event-entry.model.js';
import { InterruptKindEnum } from './interrupt.enums.js';

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'The job needs an answer from outside. It is answered by `resolveInterrupt`, or by a client.',
})
export class InterruptOpenedEvent extends JobEventEntry {
  @Field(() => ID, { description: 'The id it is answered by.' })
  interruptId!: string;

  @Field(() => InterruptKindEnum, { description: 'What is asked for.' })
  kind!: string;

  @Field(() => String, { nullable: true, description: 'The call it is about, by the id the model knows it by.' })
  callId!: string | null;

  @Field(() => String, { nullable: true, description: 'The workflow node it is about.' })
  nodeId!: string | null;

  @Field(() => String, { description: 'What is asked, in a line.' })
  title!: string;

  @Field(() => DateTime, { nullable: true, description: 'When it ends unanswered; null: never.' })
  expiresAt!: number | null;

  @Field(() => Json, { description: 'What is asked, by kind.' })
  request!: unknown;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'A request is still open. Once a day.' })
export class InterruptReminderEvent extends JobEventEntry {
  @Field(() => ID, { description: 'The id it is answered by.' })
  interruptId!: string;

  @Field(() => InterruptKindEnum, { description: 'What is asked for.' })
  kind!: string;

  @Field(() => String, { description: 'What is asked, in a line.' })
  title!: string;

  @Field(() => DateTime, { nullable: true, description: 'When it ends unanswered; null: never.' })
  expiresAt!: number | null;
}

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'A request is settled: by an answer, by its expiry, or because the job was stopped.',
})
export class InterruptResolvedEvent extends JobEventEntry {
  @Field(() => ID, { description: 'The request.' })
  interruptId!: string;

  @Field(() => String, { description: 'How: such as `approved`, `denied`, `expired`, or the action of a person.' })
  outcome!: string;

  @Field(() => String, { nullable: true, description: 'Who: `user:<id>` or `key:<id>`; null: nobody.' })
  decidedBy!: string | null;

  @Field(() => DateTime, { description: 'When.' })
  decidedAt!: number;
}
