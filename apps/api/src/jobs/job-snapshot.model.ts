import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { Json } from '../graphql/scalars/json.scalar.js';
import { InterruptKindEnum } from '../interrupts/interrupt.enums.js';
import { ToolCallStatusEnum } from './job.enums.js';

/** A tool call as events show it. */
@ObjectType({ description: 'A tool call as it stood when the event was stored. Texts are cut to 32 KiB.' })
export class ToolCallState {
  @Field(() => String, { description: 'The id the model knows the call by.' })
  callId!: string;

  @Field(() => Int, { description: 'The round that asked for it.' })
  round!: number;

  @Field(() => String, { description: 'Name of the tool.' })
  name!: string;

  @Field(() => ToolCallStatusEnum, { description: 'Where it stood.' })
  status!: string;

  @Field(() => String, {
    description:
      'JSON text of what the call was run with, or is going to be: as the model wrote it, or as a person approved it.',
  })
  arguments!: string;

  @Field(() => String, {
    nullable: true,
    description: 'What the model had proposed, where a person made something else of it; null: `arguments` says it.',
  })
  proposedArguments!: string | null;

  @Field(() => String, { nullable: true, description: 'What the tool answered.' })
  result!: string | null;

  @Field(() => String, { nullable: true, description: 'Why there is no result: what the model read.' })
  error!: string | null;
}

/** A committed round in a snapshot. */
@ObjectType({ description: 'A complete round.' })
export class SnapshotRoundState {
  @Field(() => Int, { description: '1, 2, 3 … within the job.' })
  number!: number;

  @Field(() => String, { description: 'What it said.' })
  text!: string;

  @Field(() => String, { description: 'Its reasoning.' })
  reasoning!: string;
}

/** Something from outside that a job waits for. */
@ObjectType({ description: 'Something from outside that a job waits for.' })
export class OpenInterrupt {
  @Field(() => ID, { description: 'The id it is answered by.' })
  id!: string;

  @Field(() => InterruptKindEnum, { description: 'What is asked for.' })
  kind!: string;

  @Field(() => String, { nullable: true, description: 'The call it is about, by the id the model knows it by.' })
  callId!: string | null;

  @Field(() => String, { nullable: true, description: 'The workflow node it is about.' })
  nodeId!: string | null;

  @Field(() => String, { description: 'What is asked, in a line.' })
  title!: string;

  @Field(() => Json, { description: 'What is asked, by kind.' })
  request!: unknown;

  @Field(() => DateTime, { nullable: true, description: 'When it ends unanswered.' })
  expiresAt!: number | null;
}
