import { createHash } from 'node:crypto';

/** What the percentage of a flag counts. */
export const ROLLOUT_UNITS = ['workspace', 'user'] as const;
export type RolloutUnit = (typeof ROLLOUT_UNITS)[number];

/** What a flag is called: words of small letters and digits, joined by hyphens. */
export const FLAG_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
export const LONGEST_FLAG_NAME = 64;
/** Flags of an installation. */
export const MOST_FLAGS = 100;
/** Ids in each list of a flag. */
export const MOST_LISTED = 1_000;

/** For whom a feature is on. */
export interface FeatureFlag {
  readonly name: string;
  readonly description: string;
  /** Whether it is on for everyone who is not on the deny list. */
  readonly defaultOn: boolean;
  /** 0 to 100: the share of workspaces or users for whom it is on. */
  readonly rolloutPercent: number;
  readonly rolloutBy: RolloutUnit;
  /** Ids of workspaces and users. */
  readonly allowed: readonly string[];
  readonly denied: readonly string[];
}

/** Who uses a feature, and where. `userId` is null for work of no user. */
export interface FlagCaller {
  readonly workspaceId: string;
  readonly userId: string | null;
}

/** Whether the flag is on for the caller. The deny list is stronger than the allow list, and both are stronger than the rest. */
export function isOn(flag: FeatureFlag, { workspaceId, userId }: FlagCaller): boolean {
  const isListed = (ids: readonly string[]) => ids.includes(workspaceId) || (userId !== null && ids.includes(userId));
  if (isListed(flag.denied)) return false;
  if (isListed(flag.allowed) || flag.defaultOn) return true;
  const unit = flag.rolloutBy === 'workspace' ? workspaceId : userId;
  return unit !== null && positionOf(flag.name, unit) < flag.rolloutPercent;
}

/**
 * The percentage, 0 to below 100, above which the flag is on for this workspace or user. It never changes, so a higher percentage only adds;
 * and it depends on the name, so that flags do not start with the same workspaces.
 */
export function positionOf(flag: string, id: string): number {
  const hash = createHash('sha256').update(`${flag}:${id}`).digest();
  return (hash.readUInt32BE() / 2 ** 32) * 100;
}
