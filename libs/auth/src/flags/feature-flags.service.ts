import { Injectable } from '@nestjs/common';

import { systemClock, TimedCache } from '#platform';

import { type FeatureFlag, type FlagCaller, isOn } from './feature-flag.js';
import { FeatureFlagsRepository } from './feature-flags.repository.js';

/** How long a process may use flags after the operator changed them, ms. */
const freshMs = 1_000;

/** A flag as it is for one caller. */
export interface FlagState {
  readonly name: string;
  readonly enabled: boolean;
}

/** Decides which feature flags are on for whom. Results are at most a second old. Rejects if the database does not respond. */
@Injectable()
export class FeatureFlags {
  private readonly stored = new TimedCache<readonly FeatureFlag[]>({ clock: systemClock, ttlMs: freshMs, max: 1 });

  constructor(private readonly repository: FeatureFlagsRepository) {}

  /** Every flag of the installation by name, at most 100. */
  async list(caller: FlagCaller): Promise<readonly FlagState[]> {
    return (await this.all()).map((flag) => ({ name: flag.name, enabled: isOn(flag, caller) }));
  }

  /** Returns false for a flag that does not exist. */
  async isEnabled(name: string, caller: FlagCaller): Promise<boolean> {
    const flag = (await this.all()).find((one) => one.name === name);
    return flag !== undefined && isOn(flag, caller);
  }

  private all(): Promise<readonly FeatureFlag[]> {
    return this.stored.get('', () => this.repository.all());
  }
}
