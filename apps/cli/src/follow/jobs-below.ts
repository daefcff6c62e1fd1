import { isTerminal, type JobEvent, type Nightshift } from '@nightshift/client';
import { SubJobsDocument } from '@nightshift/client/operations';

import { OpenRequests } from './open-requests.js';

export interface JobsBelowInit {
  readonly client: Nightshift;
  readonly signal: AbortSignal;
  /** Called with each event of a descendant job, and with the requests that are new with it. */
  readonly onEvent: (event: JobEvent, fresh: readonly string[]) => void;
  /** Called when a descendant has ended, or a query for descendants has. */
  readonly onEnd: () => void;
  readonly onError: (error: unknown) => void;
}

/** The jobs that calls of a followed job have become, at every depth, as long as they live: what they wait for. */
export class JobsBelow {
  private readonly known = new Set<string>();
  private readonly living = new Map<string, OpenRequests>();
  private readonly underWay = new Set<Promise<void>>();
  private looks = 0;

  constructor(private readonly init: JobsBelowInit) {}

  /** The requests that they wait for. */
  get requests(): readonly string[] {
    return [...this.living.values()].flatMap(({ ids }) => ids);
  }

  /** Whether all there are hold no worker. */
  get areIdle(): boolean {
    return this.looks === 0 && [...this.living.values()].every(({ isIdle }) => isIdle);
  }

  /** Looks for new descendants when an event of the parent job indicates that there may be some. */
  take(jobId: string, event: JobEvent): void {
    if (event.__typename === 'JobSnapshotEvent') this.look(jobId);
    if (event.__typename !== 'ToolProgressEvent' || event.subJobId === null) return;
    if (!this.known.has(event.subJobId)) this.look(jobId);
  }

  /** Finds the jobs below this one. Nothing but a query names those whose calls are older than what is followed. */
  look(jobId: string): void {
    this.looks += 1;
    this.run(
      this.find(jobId).finally(() => {
        this.looks -= 1;
      }),
    );
  }

  /** Resolves when nothing is followed any more: after the abort of `signal`. */
  async end(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay);
  }

  private async find(jobId: string): Promise<void> {
    const { client, signal } = this.init;
    const { job } = await client.query(SubJobsDocument, { id: jobId }, { signal });
    for (const { id, status } of job?.subJobs ?? []) {
      if (this.known.has(id)) continue;
      this.known.add(id);
      if (!isTerminal(status)) this.run(this.follow(id));
    }
  }

  private async follow(jobId: string): Promise<void> {
    const { client, signal, onEvent } = this.init;
    const requests = new OpenRequests();
    this.living.set(jobId, requests);
    try {
      for await (const event of client.job(jobId).events({ snapshot: true, signal })) {
        this.take(jobId, event);
        onEvent(event, requests.take(event));
      }
    } finally {
      // A user who detaches needs to know what they wait for.
      if (!signal.aborted) this.living.delete(jobId);
    }
  }

  private run(work: Promise<void>): void {
    const { signal, onEnd, onError } = this.init;
    const done = work
      .then(onEnd)
      .catch((error: unknown) => {
        if (!signal.aborted) onError(error);
      })
      .finally(() => this.underWay.delete(done));
    this.underWay.add(done);
  }
}
