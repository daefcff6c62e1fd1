import type { SharedRate } from '#platform';

import { StartLimiter } from './start-limiter.js';

/** Limits the workflow starts per minute of each user and of each workspace. */
export class WorkflowStartLimiter extends StartLimiter {}

/** Limits how many questions of workflows a user may answer per minute, on the route that OR3 clients use. */
export class HitlLimiter {
  constructor(private readonly ofUser: SharedRate) {}

  /** Uses one answer. Throws `rate_limited` if none is left. */
  async take({ userId }: { readonly userId: string }): Promise<void> {
    await this.ofUser.take(userId);
  }
}
