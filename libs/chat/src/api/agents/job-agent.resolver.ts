import { ResolveField, Resolver } from '@nestjs/graphql';

import type { GraphqlContext } from '#auth/api';
import type { Job } from '#jobs';
import { JobModel } from '#jobs/api';

import type { ChosenAgent } from '../../input/agent.js';
import { RoundLoaders } from '../rounds/round-loaders.js';
import { JobAgent } from './agent.model.js';

/** The agent of a job. */
@Resolver(() => JobModel)
export class JobAgentResolver {
  constructor(private readonly loaders: RoundLoaders) {}

  @ResolveField(() => JobAgent, {
    nullable: true,
    description: 'The agent of the job. Null: none, or not chosen yet.',
    complexity: 10,
  })
  agent({ id, kind }: Job, _: unknown, context: GraphqlContext): Promise<ChosenAgent | null> | null {
    return kind === 'chat' ? this.loaders.of(context).agent.load(id) : null;
  }
}
