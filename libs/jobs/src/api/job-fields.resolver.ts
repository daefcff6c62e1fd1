import { ResolveField, Resolver } from '@nestjs/graphql';

import { toNodeId } from '#platform/api';

import type { Job } from '../job.js';
import { JobError, JobModel, toJobError } from './job.model.js';
import { Usage } from './usage.model.js';

/** Fields of a job that are computed from its row. */
@Resolver(() => JobModel)
export class JobFieldsResolver {
  @ResolveField(() => String)
  nodeId(job: Job): string {
    return toNodeId('Job', job.id);
  }

  @ResolveField(() => Boolean, { description: 'The old name of `isDeferred`.', deprecationReason: 'Use `isDeferred`.' })
  inLine({ isDeferred }: Job): boolean {
    return isDeferred;
  }

  @ResolveField(() => Number)
  attempt(job: Job): number {
    return job.restarts;
  }

  @ResolveField(() => JobError)
  error({ error }: Job): JobError | null {
    return error === null ? null : toJobError(error);
  }

  @ResolveField(() => Usage, { description: 'Tokens of all its rounds.' })
  usage({ promptTokens, completionTokens }: Job): Usage {
    return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
  }
}
