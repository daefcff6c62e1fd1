import { Inject, Injectable } from '@nestjs/common';

import { NotificationsRepository } from '#jobs';
import { BUS, type Bus, LOGGER, type Logger } from '#platform';

import { type Look, RowActivity } from '../streams/row-activity.js';

/** The most changes that one read returns; if there are more, the latest. */
const mostAtOnce = 5_000;

/** The position from which the next read continues. */
interface Seen {
  /** Transactions before this one had all ended. */
  readonly floor: string;
  /** Those after it that were seen: the ids, and the transaction that had changed each. */
  readonly known: ReadonlyMap<string, string>;
}

/**
 * Which notifications of a workspace were written or read, by user (`topic`). What they are about is hinted anyway; reading is found
 * by the clock.
 *
 * A look reads one range of one index: what was written or read by transactions that had not ended at the look before. So it costs
 * what is new, whatever is kept or unread, and nothing is passed over that was committed late. While somebody watches there is one
 * each 2 s, and at most four in a second, for all viewers of a workspace in this process together; only those are woken whose own
 * notifications have changed. A transaction elsewhere that writes for minutes makes the looks of these minutes read again, at most
 * 5,000 rows each, what has changed since it began.
 */
@Injectable()
export class NotificationActivity extends RowActivity<Seen> {
  constructor(
    private readonly notifications: NotificationsRepository,
    @Inject(BUS) bus: Bus,
    @Inject(LOGGER) logger: Logger,
  ) {
    super(bus, logger);
  }

  protected async look(workspaceId: string, before: Seen | undefined): Promise<Look<Seen>> {
    const { floor, changed } = await this.notifications.changedFrom(workspaceId, before?.floor ?? null, mostAtOnce);
    const fresh = before === undefined ? [] : changed.filter(({ id, changedIn }) => before.known.get(id) !== changedIn);
    return {
      seen: { floor, known: new Map(changed.map(({ id, changedIn }) => [id, changedIn])) },
      changed: fresh.map(({ id, userId: topic }) => ({ id, topic })),
    };
  }

  protected hear(bus: Bus, changed: (workspaceId: string) => void): readonly (() => void)[] {
    return [
      bus.subscribe('job-events', ({ workspaceId, status }) => {
        if (status === 'completed' || status === 'failed') changed(workspaceId);
      }),
      bus.subscribe('interrupts-changed', ({ workspaceId }) => {
        changed(workspaceId);
      }),
    ];
  }
}
