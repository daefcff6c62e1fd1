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

/** Where a job stands, without its text. */
export type JobState = NonNullable<JobStateQuery['job']>;

/** A job that has ended, with its text in `content`. */
export type JobResult = NonNullable<JobResultQuery['job']>;

/** How a stop went: `ABORTED`, `CANCEL_REQUESTED` while its worker gets its few seconds, or `ALREADY_TERMINAL`. */
export type StopState = NonNullable<CancelJobMutation['cancelJob']['state']>;

export interface EventsOptions extends WaitOptions {
  /** The last number that is known: events after it follow. Absent: all from the first. */
  readonly after?: number | undefined;
  /** Begins with a `JobSnapshotEvent` of the present in place of earlier events. Not together with `after`. */
  readonly snapshot?: boolean | undefined;
}

/** A job, wherever it runs. Making one asks nothing; each method may be called any number of times, also after its end. */
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
   * The job's log, gapless: every number once and in order, across lost connections and restarts of the server, until the job
   * has ended. What is no longer kept, or is more than the server replays, comes as one `JobSnapshotEvent` with `reset`. A slow
   * reader delays only itself: unread events stay on the server. Throws a `NightshiftError` when the job does not exist or is not
   * visible to the caller, and the reason of `signal` when it aborts.
   */
  events(options: EventsOptions = {}): AsyncGenerator<JobEvent, void, undefined> {
    const { after = 0, snapshot = false, signal } = options;
    return this.follow(snapshot ? undefined : after, signal);
  }

  /**
   * The text as it grows, beginning with what there is. Each step has the whole `text`, and how it came about: `keep` characters
   * of what was shown stay, `append` follows. `keep` is shorter than what was shown when a round restarted. The last `text`
   * is exactly that of the job. Ends with the job, however that ends.
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
   * The whole text, once the job has completed. Throws when it has failed (with its `code`) or was stopped (`cancelled`), and
   * `JobWaitingError` when it waits for something that this client has no handler for, unless `onWaiting` is given.
   */
  async text(options: EndOptions = {}): Promise<string> {
    const { status, content, error, reason } = await this.result(options);
    if (status === 'COMPLETED') return content;
    const code = status === 'CANCELLED' ? 'cancelled' : (error?.code ?? 'internal');
    throw new NightshiftError(error?.message ?? `The job was stopped: ${reason ?? 'no reason given'}`, { code });
  }

  /**
   * The job once it has ended, however it ended: look at `status`. Throws `JobWaitingError` when it waits for something that this client
   * has no handler for, unless `onWaiting` is given.
   */
  async result(options: EndOptions = {}): Promise<JobResult> {
    const job = await this.read(options);
    if (isTerminal(job.status)) return job;
    await waitForEnd(this.connection, this.id, options);
    return this.read(options);
  }

  /** Where it stands now. */
  async status(options: WaitOptions = {}): Promise<JobState> {
    const { job } = await this.connection.http.execute(
      JobStateDocument,
      { id: this.id },
      asking(this.connection, options.signal),
    );
    return job ?? absent(this.id);
  }

  /** The nodes, outputs and requests of a workflow job as they stand now. Null: it runs no workflow. */
  async workflowState(options: WaitOptions = {}): Promise<WorkflowState | null> {
    const { job } = await this.connection.http.execute(
      JobWorkflowStateDocument,
      { id: this.id },
      asking(this.connection, options.signal),
    );
    return (job ?? absent(this.id)).workflowState as WorkflowState | null; // a JSON scalar of this shape
  }

  /** Cancels it: at once if no worker runs it, else its worker gets up to 5 s. May be repeated; an ended job does not change. */
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
   * Answers for us what the job asks for, until it has ended: runs client tools, decides approvals, answers questions. What jobs
   * below it ask people reaches the same handlers.
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
