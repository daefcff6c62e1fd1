import { Inject, Injectable } from '@nestjs/common';

import { InterruptsRepository, type SubJobInterrupt } from '#jobs';
import { BUS, type Bus, LOGGER, type Logger, systemClock, type Timer } from '#platform';

/** The job of a response, or of a single call. */
interface RootJob {
  readonly workspaceId: string;
  readonly jobId: string;
}

/** Decides whether to check for open requests of sub-jobs, and receives the result of the check. */
interface SubJobListener {
  /** Whether a sub-job is running. */
  readonly isWanted: () => boolean;
  readonly onChange: (requests: readonly SubJobInterrupt[]) => void;
}

/** Upper limit of the time between two checks, in case a hint is lost. */
const pollMs = 2_000;
/** Maximum number of reported requests. */
const maxReported = 100;

/**
 * Finds the open requests of the sub-jobs of a job. Each sub-job has its own log, so this class compares the open requests with the known
 * ones, as the live inbox does.
 */
@Injectable()
export class SubJobInterrupts {
  constructor(
    private readonly interrupts: InterruptsRepository,
    @Inject(BUS) readonly bus: Bus,
    @Inject(LOGGER) readonly logger: Logger,
  ) {}

  /** Reports each change from the first `look` until the watch is stopped. */
  watch(answer: RootJob, listener: SubJobListener): SubJobWatch {
    return new SubJobWatch(this, answer, listener);
  }

  open({ workspaceId, jobId }: RootJob): Promise<readonly SubJobInterrupt[]> {
    return this.interrupts.openOfSubJobs(workspaceId, jobId, maxReported);
  }
}

/** Without sub-jobs, the watch neither queries nor subscribes, and costs nothing. */
class SubJobWatch {
  private known = '';
  private poll: Timer | undefined;
  private wayOut: readonly (() => void)[] = [];
  private isLooking = false;
  /** Whether a hint arrived during the current check. */
  private isDue = false;
  private isStopped = false;

  constructor(
    private readonly requests: SubJobInterrupts,
    private readonly answer: RootJob,
    private readonly listener: SubJobListener,
  ) {}

  /** Runs one check at a time: all hints during a check together cause one more check. */
  look(): void {
    this.isDue = !this.isStopped && this.listener.isWanted();
    if (!this.isDue) return;
    this.listen();
    if (this.isLooking) return;
    this.isLooking = true;
    this.isDue = false;
    this.compare()
      .catch((err: unknown) => {
        const { workspaceId, jobId } = this.answer;
        // The next poll tries again, so the client gets the request a little later.
        this.requests.logger.warn({ err, workspaceId, jobId }, 'the check for open requests of sub-jobs failed');
      })
      .finally(() => {
        this.isLooking = false;
        if (this.isDue) this.look();
      });
  }

  stop(): void {
    this.isStopped = true;
    for (const off of this.wayOut) off();
    this.poll?.cancel();
  }

  private async compare(): Promise<void> {
    const found = await this.requests.open(this.answer);
    const ids = found.map(({ id }) => id).join(' ');
    if (this.isStopped || ids === this.known) return;
    this.known = ids;
    this.listener.onChange(found);
  }

  private listen(): void {
    this.poll ??= systemClock.after(pollMs, () => {
      this.poll = undefined;
      this.look();
    });
    if (this.wayOut.length > 0) return;
    const { bus } = this.requests;
    this.wayOut = [
      bus.subscribe('interrupts-changed', ({ workspaceId }) => {
        if (workspaceId === this.answer.workspaceId) this.look();
      }),
      bus.onGap(() => {
        this.look();
      }),
    ];
  }
}
