import { Inject, Injectable } from '@nestjs/common';

import { LOGGER, type Logger, Queues, QueueWorker, runParts, sweepEach } from '#platform';

import { DeliveryWorker } from '../outbound/delivery-worker.js';
import { SyntrixChat } from '../syntrix/syntrix-chat.js';
import { Changes } from './changes.service.js';
import { OwnRowHints } from './own-row-hints.js';
import { TriggerRunsRepository } from './trigger-runs.repository.js';
import { TriggerStarts } from './trigger-starts.service.js';

/** Runs that this process starts at once. */
const startedAtOnce = 10;

/** Handles the messages of triggers: evaluates changes, starts jobs, sends webhooks, and writes the ends of Syntrix jobs. */
@Injectable()
export class TriggerWorker extends QueueWorker {
  constructor(
    private readonly queues: Queues,
    private readonly changes: Changes,
    private readonly starts: TriggerStarts,
    private readonly runs: TriggerRunsRepository,
    private readonly deliveries: DeliveryWorker,
    private readonly syntrix: SyntrixChat,
    private readonly hints: OwnRowHints,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super();
  }

  protected async open() {
    await this.deliveries.start();
    const starts = await this.queues.handle('trigger.start', { batchSize: startedAtOnce }, async (runs) => {
      const ends = await Promise.allSettled(runs.map((run) => this.starts.start(run)));
      const failed = ends.find((end) => end.status === 'rejected');
      if (failed !== undefined) throw failed.reason; // the messages are delivered again; a run that is settled does nothing
    });
    const changes = await this.queues.handleOne('trigger.changes', async ({ workspaceId }) => {
      await this.changes.evaluate(workspaceId);
      starts.wake();
    });
    const hints = this.hints.listen(() => {
      changes.wake();
    });
    const ends = await this.queues.handleOne('job.external-end', (job) => this.syntrix.writeEnd(job));
    const sweeps = await this.queues.handleEachMinute('maintenance.triggers', () => this.sweep());
    return [this.deliveries, { stop: hints }, starts, changes, ends, sweeps];
  }

  /** Starts runs, and evaluates changes, whose message was lost. */
  async sweep(): Promise<void> {
    await runParts(
      () => this.changes.sweep(),
      () =>
        sweepEach({
          find: (limit, without) => this.runs.findOverdue(limit, without),
          idOf: ({ runId }) => runId,
          act: (run) => this.starts.start(run),
          onError: (err, run) => {
            this.logger.warn({ err, ...run }, 'an overdue run of a trigger was not started');
          },
        }),
    );
  }
}
