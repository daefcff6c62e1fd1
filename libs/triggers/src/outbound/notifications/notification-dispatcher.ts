import { Inject, Injectable } from '@nestjs/common';

import {
  BUS,
  type Bus,
  type Clock,
  LOGGER,
  type Logger,
  type QueueHandler,
  Queues,
  sweepEach,
  systemClock,
  type Timer,
} from '#platform';

import { NotificationChannelsRepository } from './notification-channels.repository.js';
import { NotificationDispatch } from './notification-dispatch.service.js';

/** The maximum age of the list of workspaces with channels, and the time over which hints of one workspace are batched. */
const [refreshMs, gatherMs] = [15_000, 250];
const mostWorkspaces = 10_000;

/**
 * Dispatches notifications after a hint that a job ended or a request was opened. Each minute one process checks every workspace that has
 * channels, so a lost hint delays a notification by at most a minute. A process follows hints only while some workspace has channels.
 */
@Injectable()
export class NotificationDispatcher {
  private readonly clock: Clock = systemClock;
  private readonly due = new Map<string, Timer>();
  private readonly running = new Set<Promise<void>>();
  private watched: ReadonlySet<string> = new Set();
  private sweeps: QueueHandler | undefined;
  private refresh: Timer | undefined;
  private leaveBus: (() => void)[] = [];
  private isStopped = false;

  constructor(
    private readonly dispatch: NotificationDispatch,
    private readonly channels: NotificationChannelsRepository,
    private readonly queues: Queues,
    @Inject(BUS) private readonly bus: Bus,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async start(): Promise<void> {
    this.isStopped = false;
    this.sweeps ??= await this.queues.handleEachMinute('maintenance.notifications', () => this.sweep());
    if (this.refresh === undefined) await this.watch();
  }

  /** Resolves when this process dispatches no notifications. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.refresh?.cancel();
    this.refresh = undefined;
    this.follow(new Set());
    await this.sweeps?.stop();
    this.sweeps = undefined;
    await Promise.all(this.running);
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

  /** Periodically reads which workspaces have channels. */
  private async watch(): Promise<void> {
    try {
      const workspaces = await this.channels.workspaces(mostWorkspaces, []);
      if (!this.isStopped) this.follow(new Set(workspaces));
    } catch (err) {
      this.logger.warn({ err }, 'workspaces with notification channels could not be read');
    }
    if (this.isStopped) return;
    this.refresh = this.clock.after(refreshMs, () => void this.track(this.watch()));
  }

  private follow(workspaces: ReadonlySet<string>): void {
    this.watched = workspaces;
    if (workspaces.size === 0) {
      for (const leave of this.leaveBus.splice(0)) leave();
      for (const timer of this.due.values()) timer.cancel();
      this.due.clear();
    } else if (this.leaveBus.length === 0) {
      this.leaveBus = [
        this.bus.subscribe('job-events', ({ workspaceId, status }) => {
          if (status === 'completed' || status === 'failed') this.soon(workspaceId);
        }),
        this.bus.subscribe('interrupts-changed', ({ workspaceId }) => {
          this.soon(workspaceId);
        }),
      ];
    }
  }

  private soon(workspaceId: string): void {
    if (!this.watched.has(workspaceId) || this.due.has(workspaceId)) return;
    const timer = this.clock.after(gatherMs, () => {
      this.due.delete(workspaceId);
      void this.track(
        this.dispatch.dispatch(workspaceId).catch((err: unknown) => {
          this.logger.warn({ err, workspaceId }, 'notifications were not dispatched to channels');
        }),
      );
    });
    this.due.set(workspaceId, timer);
  }

  private track(work: Promise<void>): Promise<void> {
    this.running.add(work);
    return work.finally(() => this.running.delete(work));
  }
}
