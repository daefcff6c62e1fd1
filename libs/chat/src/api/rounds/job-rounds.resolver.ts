import { ResolveField, Resolver } from '@nestjs/graphql';

import type { GraphqlContext } from '#auth/api';
import type { Job } from '#jobs';
import { JobModel, Usage } from '#jobs/api';
import { listCost } from '#platform/api';

import { contentOf, type RoundRecord } from '../../threads/rounds.repository.js';
import { Round } from './round.model.js';
import { RoundLoaders } from './round-loaders.js';

/**
 * Resolves the rounds and the text of a job. Methods take (parent, args, context) as graphql-js passes them: Nest binds methods without
 * parameter decorators directly, which costs nothing per field.
 */
@Resolver(() => JobModel)
export class JobRoundsResolver {
  constructor(private readonly loaders: RoundLoaders) {}

  @ResolveField(() => [Round], { description: 'The completed rounds, in order.', complexity: listCost(10) })
  rounds({ id }: Job, _: unknown, context: GraphqlContext): Promise<readonly RoundRecord[]> {
    return this.loaders.of(context).rounds.load(id);
  }

  @ResolveField(() => String, {
    description: 'Its text: the completed rounds, then the current one.',
    complexity: 10,
  })
  async content({ id, finishedAt }: Job, _: unknown, context: GraphqlContext): Promise<string> {
    const loaders = this.loaders.of(context);
    const open = finishedAt === null ? loaders.openText.load(id) : '';
    const rounds = await loaders.rounds.load(id);
    return contentOf(rounds) + (await open);
  }
}

/** Fields of a round that are computed. */
@Resolver(() => Round)
export class RoundFieldsResolver {
  @ResolveField(() => Usage)
  usage({ promptTokens, completionTokens }: RoundRecord): Usage {
    return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
  }
}
