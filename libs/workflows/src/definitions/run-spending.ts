import type { ModelPrice } from '#platform';
import { matchesGlob } from '#tools';

/** Tokens of one model. */
export interface UsedByModel {
  readonly model: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** Amounts are counted, and shown to people, in this fraction of a USD. */
const DECIMALS = 6;

export function toUsd(amount: number): number {
  return Number(amount.toFixed(DECIMALS));
}

/** The price of a model; undefined: none is configured. */
export function priceOf(prices: readonly ModelPrice[], model: string): ModelPrice | undefined {
  return prices.find((price) => price.model === model || matchesGlob(price.model, model));
}

/**
 * The tokens that the models of a run and of all its descendants used, and their cost by the prices of this installation. Each turn of the run reads the
 * sums, so each report is added when it arrives.
 */
export class RunSpending {
  private ownUsd = 0;
  private descendantsUsd = 0;
  /** The tokens of all descendants. The run counts its own tokens separately. */
  descendantsTokens = 0;

  constructor(private readonly prices: readonly ModelPrice[]) {}

  load(own: readonly UsedByModel[], descendants: readonly UsedByModel[]): void {
    this.ownUsd = this.costOf(own);
    this.loadDescendants(descendants);
  }

  /** Sets the sums that descendants have used by now. */
  loadDescendants(descendants: readonly UsedByModel[]): void {
    this.descendantsUsd = this.costOf(descendants);
    this.descendantsTokens = descendants.reduce(
      (sum, { promptTokens, completionTokens }) => sum + promptTokens + completionTokens,
      0,
    );
  }

  /** False: the price of a model is unknown, so its tokens count as free. */
  add(used: UsedByModel): boolean {
    this.ownUsd += this.costOf([used]);
    return priceOf(this.prices, used.model) !== undefined;
  }

  get usd(): number {
    return toUsd(this.ownUsd + this.descendantsUsd);
  }

  private costOf(all: readonly UsedByModel[]): number {
    return all.reduce((sum, { model, promptTokens, completionTokens }) => {
      const { promptUsd, completionUsd } = priceOf(this.prices, model) ?? { promptUsd: 0, completionUsd: 0 };
      return sum + (promptTokens * promptUsd + completionTokens * completionUsd) / 1_000_000;
    }, 0);
  }
}
