import { asking, type Connection, until } from './connection.js';
import { followJob, type JobEvent } from './follow-job.js';
import { InterruptActivityDocument, InterruptDocument } from './generated/graphql.js';
import type { Interrupt } from './interrupt.js';
import { JobWaitingError } from './job-waiting-error.js';
import { resubscribe } from './resubscribe.js';
import { handles } from './serving-jobs.js';
import type { WaitOptions } from './wait-options.js';

/** Options for waiting until a job ends. */
export interface EndOptions extends WaitOptions {
  /**
   * Called for each request that the job or one of its sub-jobs waits for and that this client has no handler for. With it, waiting
   * continues; without it, such a request rejects with `JobWaitingError`.
   */
  readonly onWaiting?: ((request: Interrupt) => void) | undefined;
}

/**
 * Resolves when the job has ended. Rejects with `JobWaitingError` when the job waits for something that this client has no handler for,
 * unless `onWaiting` is given; and with the reason of `signal` when that aborts.
 */
export async function waitForEnd(connection: Connection, jobId: string, options: EndOptions): Promise<void> {
  const ending = new AbortController();
  const signal = AbortSignal.any([until(connection, options.signal), ending.signal]);
  const watch = new RequestWatch(connection, { ...options, signal }, jobId);
  try {
    await Promise.race([watch.failed, followToEnd(connection, { jobId, signal }, watch)]);
  } finally {
    ending.abort();
  }
}

async function followToEnd(
  connection: Connection,
  { jobId, signal }: { readonly jobId: string; readonly signal: AbortSignal },
  watch: RequestWatch,
): Promise<void> {
  for await (const event of followJob(connection, { jobId, after: undefined, signal })) watch.take(event);
}

type WatchOptions = EndOptions & { readonly signal: AbortSignal };

/** The open requests of a job and of its sub-jobs. */
class RequestWatch {
  readonly failed: Promise<never>;
  private fail: (error: unknown) => void = () => undefined;
  private readonly seen = new Set<string>();
  private watchesSubJobs = false;

  constructor(
    private readonly connection: Connection,
    private readonly options: WatchOptions,
    private readonly jobId: string,
  ) {
    this.failed = new Promise((_, reject) => (this.fail = reject));
    this.failed.catch(() => undefined); // it may fail after the end
  }

  take(event: JobEvent): void {
    if (event.__typename === 'InterruptOpenedEvent') this.run(this.look(event.interruptId));
    else if (event.__typename === 'JobSnapshotEvent') {
      for (const { id } of event.interrupts) this.run(this.look(id));
      if (event.status === 'WAITING' && event.interrupts.length === 0) this.watchSubJobs();
    } else if (event.__typename === 'ToolProgressEvent' && event.subJobId !== null) this.watchSubJobs();
  }

  /** Requests of sub-jobs are not in the log of this job. */
  private watchSubJobs(): void {
    if (this.watchesSubJobs) return;
    this.watchesSubJobs = true;
    this.run(this.followRequests());
  }

  private async followRequests(): Promise<void> {
    const variables = () => ({ filter: { rootJobId: { eq: this.jobId }, status: { eq: 'OPEN' as const } } });
    const { signal } = this.options;
    const watched = resubscribe(this.connection, InterruptActivityDocument, { variables, signal });
    for await (const { interruptActivity } of watched) this.judge(interruptActivity);
  }

  private async look(id: string): Promise<void> {
    const options = asking(this.connection, this.options.signal, 'patiently');
    const { interrupt } = await this.connection.http.execute(InterruptDocument, { id }, options);
    if (interrupt !== null) this.judge(interrupt);
  }

  private judge(request: Interrupt): void {
    if (request.status !== 'OPEN' || this.seen.has(request.id)) return;
    if (handles(this.connection, this.jobId, request) || isInstant(request)) return;
    this.seen.add(request.id);
    const { onWaiting } = this.options;
    if (onWaiting === undefined) throw new JobWaitingError(request);
    onWaiting(request);
  }

  private run(work: Promise<void>): void {
    work.catch((error: unknown) => {
      if (!this.options.signal.aborted) this.fail(error);
    });
  }
}

/** Whether a request is a wait until an instant, which ends by itself. */
function isInstant({ kind, request }: Interrupt): boolean {
  return kind === 'WAIT' && !(typeof request === 'object' && request !== null && 'event' in request);
}
