import { Injectable } from '@nestjs/common';

import type { JobRun } from '#jobs';
import { Config, type ModelPrice, toModelPrices } from '#platform';

import type { StopPolicy } from '../definition/document.js';
import { RunSpending } from '../definitions/run-spending.js';
import type { RunFacts } from './run-facts.js';
import { RunUsageRepository } from './run-usage.repository.js';

/** What a run has spent, and how to hear of what is spent below it. */
export interface WatchedSpending {
  readonly spending: RunSpending;
  /** Looks what jobs below have used by now. */
  readonly refresh: () => Promise<void>;
}

/** The settings of this instance that runs need, and what they spend by its prices. */
@Injectable()
export class WorkflowInstance {
  private readonly prices: readonly ModelPrice[];

  constructor(
    readonly config: Config,
    private readonly usage: RunUsageRepository,
  ) {
    this.prices = toModelPrices(config.values.MODEL_PRICES);
  }

  /** Reads nothing for a run without such a limit. Viewers are notified of models whose price is unknown, when that matters. */
  async spendingOf(
    run: JobRun,
    { maxTokens, maxCostUsd }: StopPolicy,
    { facts, isFirstLook }: { readonly facts: RunFacts; readonly isFirstLook: boolean },
  ): Promise<WatchedSpending> {
    const spending = new RunSpending(this.prices);
    if (maxTokens === undefined && maxCostUsd === undefined) {
      return { spending, refresh: () => Promise.resolve() };
    }
    const warned = new Set<string>();
    facts.onSpent = (used) => {
      if (spending.add(used) || maxCostUsd === undefined || warned.has(used.model)) return;
      warned.add(used.model);
      const text = `What "${used.model}" costs is not known, so maxCostUsd does not count it.`;
      run.append({ events: [{ type: 'warning', body: { code: 'COST_UNKNOWN', text } }] });
    };
    if (!isFirstLook) {
      const { own, below } = await this.usage.read(run.job);
      spending.load(own, below);
    }
    return {
      spending,
      refresh: async () => {
        spending.loadBelow((await this.usage.read(run.job)).below);
      },
    };
  }
}
