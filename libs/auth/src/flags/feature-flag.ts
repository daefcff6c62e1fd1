import { createHash } from 'node:crypto';

/** What the percentage of a flag refers to. */
export const ROLLOUT_UNITS = ['workspace', 'user'] as const;
export type RolloutUnit = (typeof ROLLOUT_UNITS)[number];

/** The pattern of flag names: words of lower-case letters and digits, joined by hyphens. */
export const FLAG_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
export const MAX_FLAG_NAME_LENGTH = 64;
/** Maximum number of flags in an installation. */
export const MAX_FLAGS = 100;
/** Maximum number of ids in each list of a flag. */
export const MAX_LISTED = 1_000;

/** A feature flag, and for whom it is on. */
export interface FeatureFlag {
  readonly name: string;
  readonly description: string;
  /** Whether it is on for everyone who is not on the deny list. */
  readonly defaultOn: boolean;
  /** 0 to 100: the share of workspaces or users for which it is on. */
  readonly rolloutPercent: number;
  readonly rolloutBy: RolloutUnit;
  /** Ids of workspaces and users. */
  readonly allowed: readonly string[];
  readonly denied: readonly string[];
}

/** The user of a feature, and their workspace. `userId` is null for work without a user. */
export interface FlagCaller {
  readonly workspaceId: string;
  readonly userId: string | null;
}

/**
 * Whether the flag is on for the caller. The deny list takes precedence over the allow list, and both take precedence over the default and
 * the percentage.
 */
export function isOn(flag: FeatureFlag, { workspaceId, userId }: FlagCaller): boolean {
  const isListed = (ids: readonly string[]) => ids.includes(workspaceId) || (userId !== null && ids.includes(userId));
  if (isListed(flag.denied)) return false;
  if (isListed(flag.allowed) || flag.defaultOn) return true;
  const unit = flag.rolloutBy === 'workspace' ? workspaceId : userId;
  return unit !== null && positionOf(flag.name, unit) < flag.rolloutPercent;
}

/**
 * The position of a workspace or user, 0 to below 100: the flag is on for it if the percentage is higher. The position never changes, so a
 * higher percentage only adds workspaces or users. It depends on the name, so that different flags start with different workspaces.
 */
export function positionOf(flag: string, id: string): number {
  const hash = createHash('sha256').update(`${flag}:${id}`).digest();
  return (hash.readUInt32BE() / 2 ** 32) * 100;
}
