import type { SharedRate } from '#platform';

import { StartLimiter } from './start-limiter.js';

/** Starts of workflows a minute. */
export class WorkflowStartLimiter extends StartLimiter {}

/** Answers of a user to the questions of workflows a minute, at the route that OR3 clients know. */
export class HitlLimiter {
  constructor(private readonly ofUser: SharedRate) {}

  /** Uses one answer. Throws `rate_limited` when none is left. */
  async take({ userId }: { readonly userId: string }): Promise<void> {
    await this.ofUser.take(userId);
  }
}
