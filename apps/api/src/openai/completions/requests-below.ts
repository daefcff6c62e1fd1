import { Inject, Injectable } from '@nestjs/common';

import { type InterruptBelow, InterruptsRepository } from '#jobs';
import { BUS, type Bus, LOGGER, type Logger, systemClock, type Timer } from '#platform';

/** The job of an answer, or of a call. */
interface RootJob {
  readonly workspaceId: string;
  readonly jobId: string;
}

/** Decides whether to check for open requests of child jobs, and receives what the check found. */
interface BelowListener {
  /** Whether jobs below are at work. */
  readonly isWanted: () => boolean;
  readonly onChange: (requests: readonly InterruptBelow[]) => void;
}

/** Upper limit of the time between two checks, in case a hint is lost. */
const pollMs = 2_000;
/** The most requests that are reported. */
const mostBelow = 100;

/** What the jobs below an answer's job wait for. Their logs are their own: what is open is compared, as the live inbox does. */
@Injectable()
export class RequestsBelow {
  constructor(
    private readonly interrupts: InterruptsRepository,
    @Inject(BUS) readonly bus: Bus,
    @Inject(LOGGER) readonly logger: Logger,
  ) {}

  /** Reports each change from the first `look` on, until it is stopped. */
  watch(answer: RootJob, listener: BelowListener): BelowWatch {
    return new BelowWatch(this, answer, listener);
  }

  open({ workspaceId, jobId }: RootJob): Promise<readonly InterruptBelow[]> {
    return this.interrupts.openBelow(workspaceId, jobId, mostBelow);
  }
}

/** Costs nothing while no job is below: then it neither looks nor listens. */
class BelowWatch {
  private known = '';
  private poll: Timer | undefined;
  private wayOut: readonly (() => void)[] = [];
  private isLooking = false;
  /** Something came while it looked. */
  private isDue = false;
  private isStopped = false;

  constructor(
    private readonly requests: RequestsBelow,
    private readonly answer: RootJob,
    private readonly listener: BelowListener,
  ) {}

  /** One look at a time: a thousand hints while one is under way cost one more. */
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
        // The poll tries again; the client hears of it a little later.
        this.requests.logger.warn({ err, workspaceId, jobId }, 'looking for requests of jobs below failed');
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
