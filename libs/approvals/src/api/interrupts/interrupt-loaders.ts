import { Injectable } from '@nestjs/common';
import type DataLoader from 'dataloader';

import { byId, byOwner, FeatureLoaders } from '#auth/api';
import { type Interrupt, InterruptsRepository } from '#jobs';
import type { Scope } from '#platform';

interface Loaders {
  readonly interrupts: DataLoader<string, Interrupt | null>;
  /** The key is the job id. */
  readonly openOfJob: DataLoader<string, readonly Interrupt[]>;
}

/** Batches the reads of interrupts. */
@Injectable()
export class InterruptLoaders extends FeatureLoaders<Loaders> {
  constructor(private readonly interrupts: InterruptsRepository) {
    super();
  }

  protected make(scope: Scope): Loaders {
    return {
      interrupts: byId((ids) => this.interrupts.findManyInScope(scope, ids)),
      openOfJob: byOwner(
        (ids) => this.interrupts.openOfJobsInScope(scope, ids),
        ({ jobId }) => jobId,
      ),
    };
  }
}
