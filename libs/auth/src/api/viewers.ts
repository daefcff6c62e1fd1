import { Injectable } from '@nestjs/common';

import { systemClock } from '#platform';
import { OpenStreams } from '#platform/api';

import type { GraphqlContext } from './graphql-context.js';
import { ViewerAccess } from './viewer-access.js';

/** The resource that a subscription shows. */
export interface Viewed {
  /** The id of the job, or a name for the viewed part of a workspace. */
  readonly jobId: string;
  readonly createdBy: string | null;
}

/** After a successful check, access is not checked again for this long. The result itself may be a second old. */
const reuseMs = 200;

/** Acquires stream slots for the viewers of subscriptions, and closes a subscription when its viewer loses access. */
@Injectable()
export class Viewers {
  constructor(
    private readonly open: OpenStreams,
    private readonly access: ViewerAccess,
  ) {}

  /**
   * Acquires a slot for the operation until it ends. Throws `rate_limited` if the principal or the job has its maximum of viewers. Closes the
   * connection when the token expires or the right to read ends; `lostAccess` checks again before each batch.
   */
  enter(context: GraphqlContext, { jobId, createdBy }: Viewed): void {
    const { member } = context;
    const { id: principal, workspaceId } = member;
    const slot = this.open.enter({ principal, workspaceId, jobId }, context.close);
    const watch = this.access.watch({ principal: member, workspaceId, createdBy }, context.close);
    context.onEnd(() => {
      watch.stop();
      slot.leave();
    });
    let askedAt = -Infinity;
    context.lostAccess = () => {
      const now = systemClock.monotonic();
      if (now - askedAt < reuseMs) return null;
      return watch.check().then((lost) => {
        if (lost === null) askedAt = now;
        return lost;
      });
    };
  }

  /** Like `enter`, for subscriptions to a whole workspace. Each member has slots of their own. */
  enterOwn(context: GraphqlContext, what: string): void {
    const { workspaceId, userId } = context.member;
    this.enter(context, { jobId: `${what}:${workspaceId}:${userId}`, createdBy: null });
  }
}
