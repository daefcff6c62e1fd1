import { Injectable } from '@nestjs/common';
import type DataLoader from 'dataloader';

import { byId, byOwner, FeatureLoaders } from '#auth/api';
import type { Scope } from '#platform';

import type { Job } from '../job.js';
import { JobsRepository } from '../jobs.repository.js';

interface Loaders {
  readonly jobs: DataLoader<string, Job | null>;
  /** Loads the sub-jobs of a job by its id. */
  readonly subJobs: DataLoader<string, readonly Job[]>;
}

/** Batches the reads of jobs. */
@Injectable()
export class JobLoaders extends FeatureLoaders<Loaders> {
  constructor(private readonly jobs: JobsRepository) {
    super();
  }

  protected make(scope: Scope): Loaders {
    return {
      jobs: byId((ids) => this.jobs.findManyInScope(scope, ids)),
      subJobs: byOwner(
        (ids) => this.jobs.findBelowInScope(scope, ids),
        ({ parentJobId }) => parentJobId,
      ),
    };
  }
}
