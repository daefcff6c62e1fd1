import { Inject, Injectable } from '@nestjs/common';

import {
  BUS,
  type Bus,
  LOGGER,
  type Logger,
  ParallelHandlers,
  Queues,
  QueueWorker,
  sweepEach,
  systemClock,
  TimedCache,
  type Timer,
} from '#platform';

import { NotificationChannelsRepository } from './notification-channels.repository.js';
import { NotificationDispatch } from './notification-dispatch.service.js';

/** The maximum age of the list of workspaces with channels, and the time over which hints of one workspace are batched. */
const [refreshMs, gatherMs] = [15_000, 250];
const maxWorkspaces = 10_000;
/** Workspaces that one process handles at once. */
const slots = 4;

/**
 * Dispatches notifications after a hint that a job ended or a request was opened: each process sends a queue message for the workspace, and
 * pg-boss stores one of them. Each minute one process checks every workspace that has channels, so a lost hint delays a notification by at
 * most a minute.
 */
@Injectable()
export class NotificationDispatcher extends QueueWorker {
  private readonly listed = new TimedCache<ReadonlySet<string>>({ clock: systemClock, ttlMs: refreshMs, max: 1 });
  /** By workspace. The message is sent after all hints that it is about, so its handler reads their rows. */
  private readonly waiting = new Map<string, Timer>();

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
    const due = new ParallelHandlers(this.queues, { queue: 'notification.due', slots }, async ({ data }) => {
      await this.dispatch.dispatch(data.workspaceId);
      return 'completed';
    });
    await due.start();
    return [
      { stop: ends },
      { stop: requests },
      due,
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

  override async stop(): Promise<void> {
    await super.stop();
    for (const timer of this.waiting.values()) timer.cancel();
    this.waiting.clear();
  }

  private soon(workspaceId: string): void {
    if (this.waiting.has(workspaceId) || this.waiting.size >= maxWorkspaces) return;
    const timer = systemClock.after(gatherMs, () => {
      this.waiting.delete(workspaceId);
      this.announce(workspaceId).catch((err: unknown) => {
        this.logger.warn({ err, workspaceId }, 'notifications wait for the next sweep');
      });
    });
    this.waiting.set(workspaceId, timer);
  }

  private async announce(workspaceId: string): Promise<void> {
    const list = async () => new Set(await this.channels.workspaces(maxWorkspaces, []));
    if (!(await this.listed.get('', list)).has(workspaceId)) return;
    await this.queues.send(null, 'notification.due', [{ data: { workspaceId }, key: workspaceId }]);
  }
}
