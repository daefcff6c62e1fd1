import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';

import { ForegroundWatch, JobQueue, Worker } from '#jobs';
import { Config, queuesServed } from '#platform';
import { ActionHooks, ToolWorker } from '#tools';

import { Maintenance } from './maintenance.js';

/**
 * Takes jobs and calls of isolated tools once all modules are ready, and gives them back before any module is closed. WORKER_QUEUES may
 * limit the worker to one of the two.
 */
@Injectable()
export class WorkerLifecycle implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private drained: Promise<void> | undefined;

  constructor(
    private readonly worker: Worker,
    private readonly queue: JobQueue,
    private readonly maintenance: Maintenance,
    private readonly tools: ToolWorker,
    private readonly foreground: ForegroundWatch,
    private readonly actions: ActionHooks,
    private readonly config: Config,
  ) {}

  get isDraining(): boolean {
    return this.drained !== undefined;
  }

  async onApplicationBootstrap(): Promise<void> {
    const served = queuesServed(this.config.values);
    if (served.includes('jobs')) {
      await this.queue.start();
      this.worker.start();
      await this.maintenance.start();
      await this.actions.start();
      this.foreground.start();
    }
    if (served.includes('tool-execution')) this.tools.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.drain();
  }

  /** Takes no more jobs and calls; rounds have WORKER_DRAIN_MS to reach their commit, calls to end. A second call waits for the same drain. */
  drain(): Promise<void> {
    this.drained ??= this.stopAll();
    return this.drained;
  }

  /** Ends a running drain at once: aborts rounds and calls, and gives their jobs back. */
  async hurry(): Promise<void> {
    await Promise.all([this.worker.stop(0), this.tools.stop(0)]);
    await this.drain();
  }

  private async stopAll(): Promise<void> {
    const { WORKER_DRAIN_MS: graceMs } = this.config.values;
    await Promise.all([this.worker.stop(graceMs), this.tools.stop(graceMs)]);
    await Promise.all([this.maintenance.stop(), this.actions.stop(), this.foreground.stop()]);
  }
}
