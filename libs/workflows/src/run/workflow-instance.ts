import { Injectable } from '@nestjs/common';

import type { JobRun } from '#jobs';
import { Config, type ModelPrice, toModelPrices } from '#platform';

import type { StopPolicy } from '../definition/document.js';
import { RunSpending } from '../definitions/run-spending.js';
import type { RunFacts } from './run-facts.js';
import { RunUsageRepository } from './run-usage.repository.js';

/** The spending of a run, and the subscription to the spending of its descendants. */
export interface WatchedSpending {
  readonly spending: RunSpending;
  /** Reads the current usage of descendants. */
  readonly refresh: () => Promise<void>;
}

/** The settings and prices of this installation that runs need. */
@Injectable()
export class WorkflowInstance {
  private readonly prices: readonly ModelPrice[];

  constructor(
    readonly config: Config,
    private readonly usage: RunUsageRepository,
  ) {
    this.prices = toModelPrices(config.values.MODEL_PRICES);
  }

  /** Reads nothing for a run without a cost limit. Tells viewers about models without a price if the run has such a limit. */
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
      const { own, descendants } = await this.usage.read(run.job);
      spending.load(own, descendants);
    }
    return {
      spending,
      refresh: async () => {
        spending.loadDescendants((await this.usage.read(run.job)).descendants);
      },
    };
  }
}
