import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';

import { Doorbell, InterruptTimers, Retention, Worker } from '#jobs';
import { Config } from '#platform';

/** Lets the worker take jobs once everything is there, and gives its jobs back before anything is taken away. */
@Injectable()
export class WorkerLifecycle implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown {
  private drained: Promise<void> | undefined;

  constructor(
    private readonly worker: Worker,
    private readonly doorbell: Doorbell,
    private readonly retention: Retention,
    private readonly timers: InterruptTimers,
    private readonly config: Config,
  ) {}

  get isDraining(): boolean {
    return this.drained !== undefined;
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.doorbell.start();
    this.worker.start();
    this.retention.start();
    this.timers.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.drain();
  }

  /** Last: until now an api in the same process may have accepted jobs, and each of them rings. */
  onApplicationShutdown(): Promise<void> {
    return this.doorbell.stop();
  }

  /** Takes no more jobs from this moment; rounds have WORKER_DRAIN_MS to reach their commit. Calling it again waits along. */
  drain(): Promise<void> {
    this.drained ??= this.stopAll();
    return this.drained;
  }

  /** Ends the waiting of a drain that is under way: rounds are aborted, their jobs given back. */
  async hurry(): Promise<void> {
    await this.worker.stop(0);
    await this.drain();
  }

  private async stopAll(): Promise<void> {
    await Promise.all([
      this.worker.stop(this.config.values.WORKER_DRAIN_MS),
      this.retention.stop(),
      this.timers.stop(),
    ]);
  }
}
