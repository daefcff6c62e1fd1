import { ResolveField, Resolver } from '@nestjs/graphql';

import { contentOf, type RoundRecord } from '#chat';
import type { Job } from '#jobs';

import { listCost } from '../graphql/connections/to-page.js';
import type { GraphqlContext } from '../graphql/graphql-context.js';
import { toNodeId } from '../graphql/node/node-id.js';
import { JobModel } from './job.model.js';
import { Round, Usage } from './round.model.js';

/**
 * What a job shows beyond its own row. Methods take (parent, args, context) as graphql-js hands them: without parameter
 * decorators Nest binds them directly, which costs nothing per field.
 */
@Resolver(() => JobModel)
export class JobFieldsResolver {
  @ResolveField(() => String)
  nodeId(job: Job): string {
    return toNodeId('Job', job.id);
  }

  @ResolveField(() => Number)
  attempt(job: Job): number {
    return job.restarts;
  }

  @ResolveField(() => Usage, { description: 'Tokens of all its rounds.' })
  usage({ promptTokens, completionTokens }: Job): Usage {
    return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
  }

  @ResolveField(() => [Round], { description: 'The completed rounds, in order.', complexity: listCost(10) })
  rounds({ id }: Job, _: unknown, { loaders }: GraphqlContext): Promise<readonly RoundRecord[]> {
    return loaders.roundsOfJob.load(id);
  }

  @ResolveField(() => String, {
    description: 'Its text: the completed rounds, then the current one.',
    complexity: 10,
  })
  async content({ id, finishedAt }: Job, _: unknown, { loaders }: GraphqlContext): Promise<string> {
    const open = finishedAt === null ? loaders.openTextOfJob.load(id) : '';
    const rounds = await loaders.roundsOfJob.load(id);
    return contentOf(rounds) + (await open);
  }
}

/** What a round shows that is computed. */
@Resolver(() => Round)
export class RoundFieldsResolver {
  @ResolveField(() => Usage)
  usage({ promptTokens, completionTokens }: RoundRecord): Usage {
    return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
  }
}
