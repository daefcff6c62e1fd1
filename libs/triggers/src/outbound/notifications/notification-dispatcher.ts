import { Inject, Injectable } from '@nestjs/common';

import { BUS, type Bus, LOGGER, type Logger, Queues, QueueWorker, sweepEach, systemClock, TimedCache } from '#platform';

import { NotificationChannelsRepository } from './notification-channels.repository.js';
import { NotificationDispatch } from './notification-dispatch.service.js';

/** The maximum age of the list of workspaces with channels, and the time over which hints of one workspace are batched. */
const [refreshMs, gatherMs] = [15_000, 250];
const mostWorkspaces = 10_000;

/**
 * Dispatches notifications after a hint that a job ended or a request was opened: each process sends a queue message for the workspace, and
 * pg-boss stores one of them. Each minute one process checks every workspace that has channels, so a lost hint delays a notification by at
 * most a minute.
 */
@Injectable()
export class NotificationDispatcher extends QueueWorker {
  private readonly listed = new TimedCache<ReadonlySet<string>>({ clock: systemClock, ttlMs: refreshMs, max: 1 });
  /** Workspaces whose message is not due yet. Later hints need no other message: its handler reads their rows too. */
  private readonly announced = new TimedCache<void>({ clock: systemClock, ttlMs: gatherMs, max: mostWorkspaces });

  constructor(
    private readonly dispatch: NotificationDispatch,
    private readonly channels: NotificationChannelsRepository,
    private readonly queues: Queues,
    @Inject(BUS) private readonly bus: Bus,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super();
  }

  protected async open() {
    const ends = this.bus.subscribe('job-events', ({ workspaceId, status }) => {
      if (status === 'completed' || status === 'failed') this.soon(workspaceId);
    });
    const requests = this.bus.subscribe('interrupts-changed', ({ workspaceId }) => {
      this.soon(workspaceId);
    });
    return [
      { stop: ends },
      { stop: requests },
      await this.queues.handleOne('notification.due', ({ workspaceId }) => this.dispatch.dispatch(workspaceId)),
      await this.queues.handleEachMinute('maintenance.notifications', () => this.sweep()),
    ];
  }

  /** Dispatches the notifications of all workspaces that have channels. */
  sweep(): Promise<void> {
    return sweepEach<string>({
      find: (limit, without) => this.channels.workspaces(limit, without),
      idOf: (workspaceId) => workspaceId,
      act: (workspaceId) => this.dispatch.dispatch(workspaceId),
      onError: (err, workspaceId) => {
        this.logger.warn({ err, workspaceId }, 'notifications were not dispatched to channels');
      },
    });
  }

  private soon(workspaceId: string): void {
    this.announced
      .get(workspaceId, () => this.announce(workspaceId))
      .catch((err: unknown) => {
        this.logger.warn({ err, workspaceId }, 'notifications wait for the next sweep');
      });
  }

  private async announce(workspaceId: string): Promise<void> {
    const list = async () => new Set(await this.channels.workspaces(mostWorkspaces, []));
    if (!(await this.listed.get('', list)).has(workspaceId)) return;
    const message = { data: { workspaceId }, key: workspaceId, afterMs: gatherMs };
    await this.queues.send(null, 'notification.due', [message]);
  }
}
