import { Field, Int, ObjectType } from '@nestjs/graphql';

import { DateTime } from '../graphql/scalars/date-time.scalar.js';

/** Tokens, as the provider counted them. */
@ObjectType({ description: 'Tokens as the provider counted them, or as we estimated them when it did not.' })
export class Usage {
  @Field(() => Int, { description: 'Tokens read.' })
  promptTokens!: number;

  @Field(() => Int, { description: 'Tokens written.' })
  completionTokens!: number;

  @Field(() => Int, { description: 'Both together.' })
  totalTokens!: number;
}

/** One model call within a job. */
@ObjectType({
  description: 'One model call within a job, with what it said. Rounds are recorded once and never change.',
})
export class Round {
  @Field(() => Int, { description: '1, 2, 3 … within the job.' })
  number!: number;

  @Field(() => String, { description: 'The model that answered.' })
  model!: string;

  @Field(() => String, { description: 'What it said.' })
  text!: string;

  @Field(() => String, { description: 'Its reasoning, as far as the provider shows it; else empty.' })
  reasoning!: string;

  @Field(() => String, { description: 'Why it stopped: `stop`, `length`, `tool_calls`, `content_filter` or `other`.' })
  finishReason!: string;

  @Field(() => Boolean, {
    description: 'Whether the job ended while this round was under way: the text is what was shown by then.',
  })
  partial!: boolean;

  @Field(() => Usage, { description: 'Tokens of this round.' })
  usage!: Usage;

  @Field(() => DateTime, { description: 'When the model was asked.' })
  startedAt!: number;

  @Field(() => DateTime, { description: 'When the answer was complete.' })
  finishedAt!: number;
}
