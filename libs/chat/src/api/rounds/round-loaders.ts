import { Injectable } from '@nestjs/common';
import type DataLoader from 'dataloader';

import { byOwner, FeatureLoaders, valueOf } from '#auth/api';
import type { Scope } from '#platform';

import type { ChosenAgent } from '../../input/agent.js';
import { type RoundRecord, RoundsRepository } from '../../threads/rounds.repository.js';

/** Data loaders, all by job id. */
interface Loaders {
  readonly rounds: DataLoader<string, readonly RoundRecord[]>;
  readonly openText: DataLoader<string, string>;
  readonly agent: DataLoader<string, ChosenAgent | null>;
}

/** Batches the reads of rounds, texts and agents of jobs. */
@Injectable()
export class RoundLoaders extends FeatureLoaders<Loaders> {
  constructor(private readonly rounds: RoundsRepository) {
    super();
  }

  protected make(scope: Scope): Loaders {
    return {
      rounds: byOwner(
        (ids) => this.rounds.roundsInScope(scope, ids),
        ({ jobId }) => jobId,
      ),
      openText: valueOf((ids) => this.rounds.openTextInScope(scope, ids), ''),
      agent: valueOf<ChosenAgent | null>((ids) => this.rounds.agentsInScope(scope, ids), null),
    };
  }
}
