import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { JobEventEntry } from './job-event-entry.model.js';

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'The agent that a job with `auto` chose.',
})
export class AgentSelectedEvent extends JobEventEntry {
  @Field(() => ID, { description: 'The server id of the agent.' })
  agent!: string;

  @Field(() => Int, { description: 'The version of the agent that the job uses.' })
  version!: number;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'Its readable id.' })
  slug!: string;

  @Field(() => String, { description: 'The reason given by the model. May be empty.' })
  reasoning!: string;

  @Field(() => Boolean, { description: 'Whether no agent fitted and the default agent was used.' })
  fallback!: boolean;
}
