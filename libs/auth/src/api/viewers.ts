import { Injectable } from '@nestjs/common';

import { systemClock } from '#platform';
import { OpenStreams } from '#platform/api';

import type { GraphqlContext } from './graphql-context.js';
import { ViewerAccess } from './viewer-access.js';

/** What a subscription shows. */
export interface Viewed {
  /** The job, or a name that stands for what one sees of a workspace. */
  readonly jobId: string;
  readonly createdBy: string | null;
}

/** A granted access is not asked about again for this long; the answer itself may be a second old. */
const reuseMs = 200;

/** Acquires stream slots for the viewers of subscriptions, and closes a subscription when its viewer loses access. */
@Injectable()
export class Viewers {
  constructor(
    private readonly open: OpenStreams,
    private readonly access: ViewerAccess,
  ) {}

  /**
   * Takes a slot for the operation until it ends. Throws `rate_limited` when principal or job has its most viewers. The
   * connection is closed when the token ends or the right to read is lost; before each batch `lostAccess` asks again.
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

  /** The same for subscriptions to a whole workspace: members of one workspace do not take slots from each other. */
  enterOwn(context: GraphqlContext, what: string): void {
    const { workspaceId, userId } = context.member;
    this.enter(context, { jobId: `${what}:${workspaceId}:${userId}`, createdBy: null });
  }
}
