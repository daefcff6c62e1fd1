import { Field, Int, ObjectType } from '@nestjs/graphql';

import { Usage } from '#jobs/api';
import { DateTime } from '#platform/api';

/** One model call of a job. */
@ObjectType({
  description: 'One model call of a job and its response. Rounds are recorded once and never change.',
})
export class Round {
  @Field(() => Int, { description: '1, 2, 3 … within the job.' })
  number!: number;

  @Field(() => String, { description: 'The model that answered.' })
  model!: string;

  @Field(() => String, { description: 'The text of the response.' })
  text!: string;

  @Field(() => String, { description: 'Its reasoning, if the provider returns it. Else empty.' })
  reasoning!: string;

  @Field(() => String, { description: 'Why it stopped: `stop`, `length`, `tool_calls`, `content_filter` or `other`.' })
  finishReason!: string;

  @Field(() => Boolean, {
    description:
      'Whether the job ended during this round. If true, `text` contains only the text that viewers had received by then.',
  })
  partial!: boolean;

  @Field(() => Usage, { description: 'Tokens of this round.' })
  usage!: Usage;

  @Field(() => DateTime, { description: 'When the model was called.' })
  startedAt!: number;

  @Field(() => DateTime, { description: 'When the response was complete.' })
  finishedAt!: number;
}
