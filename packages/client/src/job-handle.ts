import { asking, type Connection } from './connection.js';
import { followJob, isTerminal, type JobEvent } from './follow-job.js';
import {
  CancelJobDocument,
  type CancelJobMutation,
  JobResultDocument,
  type JobResultQuery,
  JobStateDocument,
  type JobStateQuery,
  JobWorkflowStateDocument,
} from './generated/graphql.js';
import { JobText, type TextChange } from './job-text.js';
import { NightshiftError } from './nightshift-error.js';
import { serveJob } from './serve-job.js';
import type { Approval, ServeOptions } from './serve-options.js';
import { noteServing } from './serving-jobs.js';
import { assertTaken } from './to-failure.js';
import { type EndOptions, waitForEnd } from './wait-for-end.js';
import type { WaitOptions } from './wait-options.js';
import type { WorkflowState } from './workflow-state.js';

/** The state of a job, without its text. */
export type JobState = NonNullable<JobStateQuery['job']>;

/** A job that has ended, with its text in `content`. */
export type JobResult = NonNullable<JobResultQuery['job']>;

/** The outcome of a cancellation: `ABORTED`, `CANCEL_REQUESTED` while the worker stops (a few seconds), or `ALREADY_TERMINAL`. */
export type StopState = NonNullable<CancelJobMutation['cancelJob']['state']>;

export interface EventsOptions extends WaitOptions {
  /** The number of the last known event; the events after it follow. Default: all events. */
  readonly after?: number | undefined;
  /** Begins with a `JobSnapshotEvent` of the current state in place of earlier events. Cannot be combined with `after`. */
  readonly snapshot?: boolean | undefined;
}

/** A job. Creating a handle sends no request. Each method may be called any number of times, also after the end of the job. */
export class JobHandle {
  /** The id of the job, the same in every API. */
  readonly id: string;

  constructor(
    private readonly connection: Connection,
    id: string,
  ) {
    this.id = id;
  }

  /**
   * The events of the job, without gaps: each number once and in order, across lost connections and restarts of the server, until the job
   * has ended. One `JobSnapshotEvent` with `reset` replaces events that the server no longer has, or that are too many to replay. A slow
   * reader delays only itself: unread events stay on the server. Throws a `NightshiftError` if the job does not exist or the caller may not
   * see it, and the reason of `signal` when that aborts.
   */
  events(options: EventsOptions = {}): AsyncGenerator<JobEvent, void, undefined> {
    const { after = 0, snapshot = false, signal } = options;
    return this.follow(snapshot ? undefined : after, signal);
  }

  /**
   * The text of the job as it grows, beginning with the current text. Each step has the whole `text` and the change: `keep` characters of
   * the previous text stay, and `append` follows. After a restart of a round, `keep` is shorter than the previous text. The last `text`
   * equals that of the job. Ends with the job, whatever its outcome.
   */
  async *textStream(options: WaitOptions = {}): AsyncGenerator<TextChange, void, undefined> {
    const text = new JobText();
    for await (const event of this.follow(undefined, options.signal)) {
      const change = text.take(event);
      if (change !== undefined) yield change;
      if (event.__typename !== 'JobFinishedEvent' || event.contentLength === text.text.length) continue;
      const last = text.become((await this.read(options)).content);
      if (last !== undefined) yield last;
    }
  }

  /**
   * The whole text of the job once it has completed. Throws if the job failed (with its `code`) or was cancelled (`cancelled`). Throws
   * `JobWaitingError` if the job waits for something that this client has no handler for, unless `onWaiting` is given.
   */
  async text(options: EndOptions = {}): Promise<string> {
    const { status, content, error, reason } = await this.result(options);
    if (status === 'COMPLETED') return content;
    const code = status === 'CANCELLED' ? 'cancelled' : (error?.code ?? 'internal');
    throw new NightshiftError(error?.message ?? `The job was cancelled: ${reason ?? 'no reason given'}`, { code });
  }

  /**
   * The job after its end, whatever its outcome; see `status`. Throws `JobWaitingError` if the job waits for something that this client has
   * no handler for, unless `onWaiting` is given.
   */
  async result(options: EndOptions = {}): Promise<JobResult> {
    const job = await this.read(options);
    if (isTerminal(job.status)) return job;
    await waitForEnd(this.connection, this.id, options);
    return this.read(options);
  }

  /** The current state. */
  async status(options: WaitOptions = {}): Promise<JobState> {
    const { job } = await this.connection.http.execute(
      JobStateDocument,
      { id: this.id },
      asking(this.connection, options.signal),
    );
    return job ?? absent(this.id);
  }

  /** The current nodes, outputs and requests of a workflow job. Null: the job runs no workflow. */
  async workflowState(options: WaitOptions = {}): Promise<WorkflowState | null> {
    const { job } = await this.connection.http.execute(
      JobWorkflowStateDocument,
      { id: this.id },
      asking(this.connection, options.signal),
    );
    return (job ?? absent(this.id)).workflowState as WorkflowState | null; // a JSON scalar of this shape
  }

  /** Cancels the job: at once if no worker runs it, else its worker gets up to 5 s. May be repeated; has no effect on an ended job. */
  async cancel(options: WaitOptions = {}): Promise<StopState | null> {
    const { cancelJob } = await this.connection.http.execute(
      CancelJobDocument,
      { jobId: this.id },
      asking(this.connection, options.signal),
    );
    assertTaken(cancelJob);
    return cancelJob.state;
  }

  /**
   * Serves the requests of the job until it has ended: runs client tools, decides approvals, answers questions. The same handlers get the
   * requests that its sub-jobs make to people.
   */
  async serve<const Decision extends Approval>(options: ServeOptions<Decision>): Promise<void> {
    const forget = noteServing(this.connection, this.id, options);
    try {
      await serveJob(this.connection, this.id, options);
    } finally {
      forget();
    }
  }

  private follow(after: number | undefined, signal: AbortSignal | undefined) {
    return followJob(this.connection, { jobId: this.id, after, signal });
  }

  private async read({ signal }: WaitOptions): Promise<JobResult> {
    const { job } = await this.connection.http.execute(
      JobResultDocument,
      { id: this.id },
      asking(this.connection, signal, 'patiently'),
    );
    return job ?? absent(this.id);
  }
}

function absent(id: string): never {
  throw new NightshiftError(`Job ${id} does not exist, or you may not see it`, { code: 'not_found' });
}
