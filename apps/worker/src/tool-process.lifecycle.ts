import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';

import { Config } from '#platform';
import { ToolWorker } from '#tools';

/** Takes calls of isolated tools once all modules are ready, and gives them back before any module is closed. */
@Injectable()
export class ToolProcessLifecycle implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private drained: Promise<void> | undefined;

  constructor(
    private readonly tools: ToolWorker,
    private readonly config: Config,
  ) {}

  get isDraining(): boolean {
    return this.drained !== undefined;
  }

  onApplicationBootstrap(): void {
    this.tools.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.drain();
  }

  /** Ends a running drain at once: aborts the calls. */
  async hurry(): Promise<void> {
    await this.tools.stop(0);
    await this.drain();
  }

  /** Takes no more calls; running calls have WORKER_DRAIN_MS to end. */
  private drain(): Promise<void> {
    this.drained ??= this.tools.stop(this.config.values.WORKER_DRAIN_MS);
    return this.drained;
  }
}
