import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { JobEventEntry } from '../jobs/job-event-entry.model.js';

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'Which agent answers, where the job was to choose one.',
})
export class AgentSelectedEvent extends JobEventEntry {
  @Field(() => ID, { description: 'Our id of the agent.' })
  agent!: string;

  @Field(() => Int, { description: 'The version that answers.' })
  version!: number;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'Its name as an id.' })
  slug!: string;

  @Field(() => String, { description: 'Why, in the words of the model; may be empty.' })
  reasoning!: string;

  @Field(() => Boolean, { description: 'Whether nobody fitted, so that the default agent answers.' })
  fallback!: boolean;
}
