import { Inject, Injectable } from '@nestjs/common';

import { LOGGER, type Logger, ParallelHandlers, Queues, QueueWorker, runParts, Slots, sweepEach } from '#platform';

import { DeliveryWorker } from '../outbound/deliveries/delivery-worker.js';
import { SyntrixChat } from '../syntrix/syntrix-chat.js';
import { Changes } from './changes.service.js';
import { OwnRowHints } from './own-row-hints.js';
import { TriggerRunsRepository } from './trigger-runs.repository.js';
import { TriggerStarts } from './trigger-starts.service.js';

/** Messages of runs that this process handles at once: in all, and of one workspace, so that its many runs do not delay those of others. */
const startSlots = { total: 10, perValue: { workspace: 5 } };

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
    const slots = new Slots(startSlots);
    const starts = new ParallelHandlers<'trigger.start'>(
      this.queues,
      {
        ...{ queue: 'trigger.start', slots: startSlots.total },
        acquire: ({ data }) => slots.acquire({ workspace: data.workspaceId }),
      },
      async ({ data }) => {
        await this.starts.start(data); // if it fails, the message is delivered again; a run that is settled does nothing
        return 'completed';
      },
    );
    await starts.start();
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
