import { z } from 'zod';

import { AppError, isId, limitDetails } from '#platform';

import { invalidInput } from '../auth.errors.js';
import { parseInput } from '../parse-input.js';
import {
  type FeatureFlag,
  FLAG_NAME,
  MAX_FLAG_NAME_LENGTH,
  MAX_FLAGS,
  MAX_LISTED,
  ROLLOUT_UNITS,
} from './feature-flag.js';
import { type FlagChange, OperatorFlagsRepository } from './operator-flags.repository.js';

const name = z
  .string()
  .max(MAX_FLAG_NAME_LENGTH)
  .regex(FLAG_NAME, 'use words of lower-case letters and digits, joined by hyphens, as in new-search');
const ids = z.array(z.string().refine(isId, 'must be the id of a workspace or a user')).max(MAX_LISTED).default([]);
const changes = z.strictObject({
  name,
  description: z.string().trim().max(500).optional(),
  defaultOn: z.boolean().optional(),
  rolloutPercent: z.int().min(0).max(100).optional(),
  rolloutBy: z.enum(ROLLOUT_UNITS).optional(),
  allow: ids,
  deny: ids,
  unlist: ids,
});

/** The changes of a flag. Absent fields do not change; a new flag is off for everyone. */
export type FlagChanges = z.input<typeof changes>;

/**
 * What the operator of an installation may do with feature flags. Checks no ability: the caller has the migrating login. Every change is
 * recorded.
 */
export class OperatorFlags {
  private constructor(private readonly flags: OperatorFlagsRepository) {}

  static connect(ownerUrl: string): OperatorFlags {
    return new OperatorFlags(OperatorFlagsRepository.connect(ownerUrl));
  }

  list(): Promise<FeatureFlag[]> {
    return this.flags.all();
  }

  /** The changes of a flag, also of a removed one: newest first, at most 100. */
  async history(flag: string): Promise<FlagChange[]> {
    return this.flags.changes(parseInput(name, flag));
  }

  /** Creates a flag or changes it. Throws `bad_request` with the field, and `limit_reached` above 100 flags or 1,000 ids in a list. */
  async set(input: FlagChanges): Promise<FeatureFlag> {
    const wanted = parseInput(changes, input);
    await this.assertKnown([...wanted.allow, ...wanted.deny]);
    return this.flags.change(async (tx) => {
      const before = await this.flags.find(tx, wanted.name);
      if (before === null && (await this.flags.count(tx)) >= MAX_FLAGS)
        throw tooMany({ name: 'feature_flags', value: MAX_FLAGS, counts: 'feature flags in an installation' });
      const flag = changed(before ?? newFlag(wanted.name), wanted);
      if (Math.max(flag.allowed.length, flag.denied.length) > MAX_LISTED)
        throw tooMany({ name: 'feature_flag_ids', value: MAX_LISTED, counts: 'ids in a list of a feature flag' });
      await this.flags.save(tx, flag);
      await this.flags.record(tx, { flag: flag.name, action: 'flag-set', details: detailsOf(wanted) });
      return flag;
    });
  }

  /** Removes the flag, so the feature is off for everyone. Throws `not_found`. */
  async remove(flag: string): Promise<{ readonly name: string }> {
    return this.flags.change(async (tx) => {
      const found = await this.flags.find(tx, flag);
      if (found === null) throw new AppError({ code: 'not_found', message: 'No feature flag has this name' });
      await this.flags.remove(tx, found.name);
      await this.flags.record(tx, { flag: found.name, action: 'flag-removed', details: {} });
      return { name: found.name };
    });
  }

  close(): Promise<void> {
    return this.flags.close();
  }

  private async assertKnown(listed: readonly string[]): Promise<void> {
    const [unknown] = await this.flags.unknown(listed);
    if (unknown !== undefined) throw invalidInput('ids', `${unknown} is neither a workspace nor a user`);
  }
}

type Wanted = z.output<typeof changes>;

function newFlag(flag: string): FeatureFlag {
  const off = { defaultOn: false, rolloutPercent: 0, rolloutBy: 'workspace' } as const;
  return { name: flag, description: '', ...off, allowed: [], denied: [] };
}

/** An id is in one list at most: the list that the operator named last. */
function changed(flag: FeatureFlag, { allow, deny, unlist, ...rest }: Wanted): FeatureFlag {
  const both = allow.find((id) => deny.includes(id));
  if (both !== undefined) throw invalidInput('ids', `${both} cannot be allowed and denied at once`);
  const without = (list: readonly string[], others: readonly string[]) =>
    list.filter((id) => !others.includes(id) && !unlist.includes(id));
  return {
    name: flag.name,
    description: rest.description ?? flag.description,
    defaultOn: rest.defaultOn ?? flag.defaultOn,
    rolloutPercent: rest.rolloutPercent ?? flag.rolloutPercent,
    rolloutBy: rest.rolloutBy ?? flag.rolloutBy,
    allowed: [...new Set([...without(flag.allowed, deny), ...allow])],
    denied: [...new Set([...without(flag.denied, allow), ...deny])],
  };
}

/** The requested changes, without absent fields. */
function detailsOf(wanted: Wanted): Record<string, string | number | boolean | string[]> {
  const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0;
  const given = Object.entries(wanted).filter(([field, value]) => field !== 'name' && !isEmpty(value));
  return Object.fromEntries(given.flatMap(([field, value]) => (value === undefined ? [] : [[field, value] as const])));
}

function tooMany({ name: limit, value, counts }: { name: string; value: number; counts: string }): AppError {
  return new AppError({
    code: 'limit_reached',
    message: `There can be at most ${value} ${counts}. Remove one first.`,
    details: limitDetails({ name: limit, value, raisedBy: 'fixed' }),
  });
}
