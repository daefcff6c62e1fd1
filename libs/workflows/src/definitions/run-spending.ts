import type { ModelPrice } from '#platform';
import { matchesGlob } from '#tools';

/** Tokens of one model. */
export interface UsedByModel {
  readonly model: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** Fractions of a USD that count, and that people are shown. */
const DECIMALS = 6;

export function toUsd(amount: number): number {
  return Number(amount.toFixed(DECIMALS));
}

/** The price of a model; undefined: none is configured. */
export function priceOf(prices: readonly ModelPrice[], model: string): ModelPrice | undefined {
  return prices.find((price) => price.model === model || matchesGlob(price.model, model));
}

/**
 * What the models of a run were asked, and those of all jobs below it: tokens, and what they cost by the prices of this instance. It is
 * looked at in each turn of the run, so it is added up when it is heard of.
 */
export class RunSpending {
  private ownUsd = 0;
  private usdBelow = 0;
  /** Of jobs below: the run counts its own. */
  tokensBelow = 0;

  constructor(private readonly prices: readonly ModelPrice[]) {}

  load(own: readonly UsedByModel[], below: readonly UsedByModel[]): void {
    this.ownUsd = this.costOf(own);
    this.loadBelow(below);
  }

  /** What the jobs below have used by now. */
  loadBelow(below: readonly UsedByModel[]): void {
    this.usdBelow = this.costOf(below);
    this.tokensBelow = below.reduce(
      (sum, { promptTokens, completionTokens }) => sum + promptTokens + completionTokens,
      0,
    );
  }

  /** False: its price is not known, so it costs nothing as far as this can tell. */
  add(used: UsedByModel): boolean {
    this.ownUsd += this.costOf([used]);
    return priceOf(this.prices, used.model) !== undefined;
  }

  get usd(): number {
    return toUsd(this.ownUsd + this.usdBelow);
  }

  private costOf(all: readonly UsedByModel[]): number {
    return all.reduce((sum, { model, promptTokens, completionTokens }) => {
      const { promptUsd, completionUsd } = priceOf(this.prices, model) ?? { promptUsd: 0, completionUsd: 0 };
      return sum + (promptTokens * promptUsd + completionTokens * completionUsd) / 1_000_000;
    }, 0);
  }
}
