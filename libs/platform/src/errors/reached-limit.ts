import { AppError } from './app-error.js';

/** A limit that a caller has reached. Every API names it in the message and in machine-readable fields. */
export interface ReachedLimit {
  /** The name of the setting, or a snake_case name if the limit is not a setting. */
  readonly name: string;
  readonly value: number;
  readonly raisedBy: LimitRaiser;
}

/** `fixed`: no setting changes the limit. */
export type LimitRaiser = 'operator' | 'workspace_admin' | 'fixed';

const sentences: Readonly<Record<LimitRaiser, string>> = {
  operator: 'The operator of this server can raise it.',
  workspace_admin: 'An owner or admin of the workspace can raise it.',
  fixed: 'It cannot be changed.',
};

/** A sentence that names who can raise a limit. */
export function raiserSentence({ raisedBy }: Pick<ReachedLimit, 'raisedBy'>): string {
  return sentences[raisedBy];
}

/** The fields of an error that name a limit, for `details`. */
export function limitDetails({ name, value, raisedBy }: ReachedLimit) {
  return { limit: name, limitValue: value, raisedBy };
}

/** A limit on how many calls of a kind a caller makes, at once or within a time. */
export interface RateLimit extends ReachedLimit {
  /** The counted calls, such as `job starts of a user in a minute`. */
  readonly counts: string;
}

/** The error for a caller that may try again after `retryAfterSeconds`. */
export function rateLimited(limit: RateLimit, retryAfterSeconds: number): AppError {
  const rule = `At most ${limit.value} ${limit.counts} (${limit.name})`;
  return new AppError({
    code: 'rate_limited',
    message: `Rate limit exceeded. Retry after ${retryAfterSeconds}s. ${rule}. ${raiserSentence(limit)}`,
    retryable: true,
    retryAfterSeconds,
    details: limitDetails(limit),
  });
}
