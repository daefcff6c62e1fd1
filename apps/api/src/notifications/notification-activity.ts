import { Inject, Injectable } from '@nestjs/common';

import { NotificationsRepository } from '#jobs';
import { BUS, type Bus, LOGGER, type Logger } from '#platform';

import { RowActivity } from '../streams/row-activity.js';

/** Which notifications of a workspace were written or read. What they are about is hinted anyway; reading is found by the clock. */
@Injectable()
export class NotificationActivity extends RowActivity {
  constructor(
    private readonly notifications: NotificationsRepository,
    @Inject(BUS) bus: Bus,
    @Inject(LOGGER) logger: Logger,
  ) {
    super(bus, logger);
  }

  protected readOpen(workspaceId: string, limit: number): Promise<readonly string[]> {
    return this.notifications.unreadIds(workspaceId, limit);
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
