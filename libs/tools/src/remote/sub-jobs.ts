import { Inject, Injectable } from '@nestjs/common';

import { isTerminal, type JobRef, JobStopper } from '#jobs';
import { BUS, type Bus, LOGGER, type Logger, ParallelHandlers, Queues, QueueWorker, sweepEach } from '#platform';

import { type SubJobCallRef, SubJobCallsRepository } from './sub-job-calls.repository.js';
import { SubJobSettler } from './sub-job-settler.js';
import { SubJobStarter } from './sub-job-starter.js';

/** Maximum number of parents that this process handles at once. */
const slots = 10;

/**
 * Calls that run as sub-jobs. The ledger row, committed as `running` with its round, is the intent. The sub-job starts from the row, under the
 * call's idempotency key; the end of the sub-job ends the call. Any process may do each step and repeat it, because the process of the previous
 * step may have ended. The transactions that commit the call, end its sub-job or close the call each send a queue message with the id of the
 * parent; a hint wakes the handler. A sweep each minute finds calls and sub-jobs whose message was lost.
 */
@Injectable()
export class SubJobs extends QueueWorker {
  /** Parents that this process is handling. `again`: another message arrived meanwhile. */
  private readonly underWay = new Map<string, { again: boolean }>();

  constructor(
    private readonly calls: SubJobCallsRepository,
    private readonly starter: SubJobStarter,
    private readonly settler: SubJobSettler,
    private readonly stopper: JobStopper,
    private readonly queues: Queues,
    @Inject(BUS) private readonly bus: Bus,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super();
  }

  protected async open() {
    const options = { queue: 'sub-job.due', slots } as const;
    const due = new ParallelHandlers(this.queues, options, async ({ data }) => {
      await this.processExclusively(data);
      return 'completed';
    });
    await due.start();
    const hints = this.bus.subscribe('sub-jobs', () => {
      due.wake();
    });
    const sweeps = await this.queues.handleEachMinute('maintenance.sub-jobs', () => this.sweep(null));
    return [due, { stop: hints }, sweeps];
  }

  /**
   * Runs one handler per parent, so that the hooks of a call do not run twice at once. The handler also does the work of messages that arrive
   * meanwhile.
   */
  private async processExclusively(parent: JobRef): Promise<void> {
    const other = this.underWay.get(parent.jobId);
    if (other !== undefined) {
      other.again = true; // if that handler fails, its message is delivered again
      return;
    }
    const own = { again: true };
    this.underWay.set(parent.jobId, own);
    try {
      while (own.again) {
        own.again = false;
        const [failure] = await this.sweep(parent);
        if (failure !== undefined)
          throw new Error('a sub-job could not be started, settled or cancelled', { cause: failure });
      }
    } finally {
      this.underWay.delete(parent.jobId);
    }
  }

  /** Starts the job of a call, or ends the call of an ended job. Never throws: the message or the sweep tries again. */
  async process(ref: SubJobCallRef): Promise<void> {
    await this.moveOn(ref).catch((error: unknown) => {
      this.warn(error, ref);
    });
  }

  /**
   * Handles all due calls, and cancels sub-jobs that are no longer needed: of one parent, or of all. Tries every call, then returns the
   * errors.
   */
  async sweep(parent: JobRef | null): Promise<readonly unknown[]> {
    const failures: unknown[] = [];
    const onError = (error: unknown, ref: JobRef) => {
      failures.push(error);
      this.warn(error, ref);
    };
    await sweepEach({
      find: (limit, without) => this.calls.findDue(parent, limit, without),
      idOf: ({ id }) => id,
      act: (ref) => this.moveOn(ref),
      onError,
    });
    await sweepEach({
      find: (limit, without) => this.calls.findUnwanted(parent, limit, without),
      idOf: ({ jobId }) => jobId,
      act: (job) => this.stopper.cancelTree(job),
      onError,
    });
    return failures;
  }

  private async moveOn(ref: SubJobCallRef): Promise<void> {
    const call = await this.calls.find(ref);
    if (call === null) return;
    const { subJob } = call;
    if (subJob !== null) {
      if (isTerminal(subJob.status)) await this.settler.takeOver(call, subJob);
      return;
    }
    const start = await this.starter.start(call);
    if (start.type === 'refused') await this.settler.refuse(call, start.end);
    else await this.settler.show(call, start.jobId);
  }

  private warn(err: unknown, { workspaceId, jobId }: JobRef): void {
    this.logger.warn({ err, workspaceId, jobId }, 'a sub-job could not be started, settled or cancelled');
  }
}
