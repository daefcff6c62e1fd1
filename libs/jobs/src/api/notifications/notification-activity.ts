import { Inject, Injectable } from '@nestjs/common';

import { BUS, type Bus, LOGGER, type Logger } from '#platform';
import { type Look, RowActivity } from '#platform/api';

import { NotificationsRepository } from '../../notifications/notifications.repository.js';

/** Maximum number of changes that one read returns: the latest ones. */
const maxAtOnce = 5_000;

/** The position in the changes, from which the next read continues. */
interface Seen {
  /** All transactions with smaller ids had ended. */
  readonly oldestRunning: string;
  /** The rows of later transactions that were read: their ids, and the transaction that changed each of them. */
  readonly known: ReadonlyMap<string, string>;
}

/**
 * Finds the notifications of a workspace that were written, or that their user (`topic`) marked as read. The events that cause notifications
 * send hints; polls find the read marks. A poll reads one range of one index: rows written or read by transactions that had not ended at the
 * poll before. So its cost depends only on the new rows, and it misses no late commit. While a workspace has viewers there is one poll each 2
 * s, and at most four per second, for all its viewers in this process together; it wakes only viewers whose own notifications have changed.
 * While a transaction elsewhere writes for minutes, each poll reads again what has changed since it began, at most 5,000 rows each time.
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
    const { oldestRunning, changed } = await this.notifications.changedFrom(
      workspaceId,
      before?.oldestRunning ?? null,
      maxAtOnce,
    );
    const fresh = before === undefined ? [] : changed.filter(({ id, changedIn }) => before.known.get(id) !== changedIn);
    return {
      seen: { oldestRunning, known: new Map(changed.map(({ id, changedIn }) => [id, changedIn])) },
      changed: fresh.map(({ id, userId: topic }) => ({ id, topic })),
    };
  }

  protected subscribeToHints(bus: Bus, changed: (workspaceId: string) => void): readonly (() => void)[] {
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
