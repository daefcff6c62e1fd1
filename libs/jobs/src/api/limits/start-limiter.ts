import type { MemberPrincipal } from '#auth';
import type { Allowance, SharedRate } from '#platform';

/** A start counts for its user (all keys, tokens and workspaces) and for its workspace (all users). */
export type Starter = Pick<MemberPrincipal, 'userId' | 'workspaceId'>;

/** Limits the starts per minute of each user and of each workspace, across all APIs, keys and processes. */
export class StartLimiter {
  constructor(
    private readonly ofUser: SharedRate,
    private readonly ofWorkspace: SharedRate,
  ) {}

  /** The remaining allowance as far as this process knows. Uses no start. */
  peek({ userId, workspaceId }: Starter): Allowance {
    return scarcer(this.ofUser.peek(userId), this.ofWorkspace.peek(workspaceId));
  }

  /** Uses one start. Throws `rate_limited` if none is left. */
  async take({ userId, workspaceId }: Starter): Promise<Allowance> {
    const own = await this.ofUser.take(userId);
    try {
      return scarcer(own, await this.ofWorkspace.take(workspaceId));
    } catch (error) {
      this.ofUser.giveBack(userId);
      throw error;
    }
  }

  /** Returns one start to the allowance, because it replayed an earlier one. */
  giveBack({ userId, workspaceId }: Starter): Allowance {
    return scarcer(this.ofUser.giveBack(userId), this.ofWorkspace.giveBack(workspaceId));
  }
}

function scarcer(one: Allowance, other: Allowance): Allowance {
  return other.remaining < one.remaining ? other : one;
}
