import { Injectable } from '@nestjs/common';
import type DataLoader from 'dataloader';

import { byId, byOwner, FeatureLoaders } from '#auth/api';
import type { Scope } from '#platform';

import { CallsOfJobsRepository } from '../../history/calls-of-jobs.repository.js';
import type { ToolCallRecord } from '../../history/tool-call-record.js';

interface Loaders {
  readonly toolCalls: DataLoader<string, ToolCallRecord | null>;
  /** The key is the job id. */
  readonly ofJob: DataLoader<string, readonly ToolCallRecord[]>;
}

/** Batches the reads of tool calls. */
@Injectable()
export class ToolCallLoaders extends FeatureLoaders<Loaders> {
  constructor(private readonly calls: CallsOfJobsRepository) {
    super();
  }

  protected make(scope: Scope): Loaders {
    return {
      toolCalls: byId((ids) => this.calls.findMany(scope, ids)),
      ofJob: byOwner(
        (ids) => this.calls.listOfJobs(scope, ids),
        ({ jobId }) => jobId,
      ),
    };
  }
}
