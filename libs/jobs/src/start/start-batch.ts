import { defined, isId, newId, systemClock } from '#platform';

import type { ClaimedJob } from '../run/lease.repository.js';
import type { Slot, Worker } from '../run/worker.js';
import type { NewJob } from './new-job.repository.js';
import type { InsertedJob } from './start.repository.js';
import type { StartEffects } from './start-effects.js';
import type { StartDecision, StartedJob, StartRequest } from './start-request.js';

/** The result of one request. `again`: it must be decided again, after the others of its batch. */
export type StartResult = StartedJob | Error | 'again';

type Accepted = Extract<StartDecision, { type: 'accept' }>;

/** An accepted job for which the worker of this process has reserved a slot. */
interface ReservedJob {
  readonly job: NewJob;
  readonly slot: Slot;
  /** The monotonic instant before its lease was requested. */
  readonly since: number;
}

/** Starts that are decided and written together. Keeps reserved worker slots until `begin` or `release` is called. */
export class StartBatch {
  readonly effects: StartEffects = {
    queued: [],
    runnable: [],
    begun: [],
    superseded: [],
    threads: new Set(),
  };
  /** The jobs to insert. */
  readonly jobs: NewJob[] = [];
  readonly answers: readonly StartResult[];
  private readonly reserved: ReservedJob[] = [];

  constructor(
    requests: readonly StartRequest[],
    decisions: readonly StartDecision[],
    private readonly worker: Worker,
  ) {
    this.answers = requests.map((request, i): StartResult => {
      const decision = decisions[i];
      if (decision === undefined || decision.type === 'again') return 'again';
      if (decision.type === 'refuse') return decision.error;
      if (decision.type === 'replay') return { ...decision.job, replayed: true };
      return this.accept(request, decision);
    });
  }

  get hasReservedSlots(): boolean {
    return this.reserved.length > 0;
  }

  /** Releases the slots. Call it if nothing was written. */
  release(): void {
    for (const { slot } of this.reserved) slot.release();
  }

  /** Call it after the commit: jobs that were inserted as claimed begin; the others exceed the caps and are queued. */
  begin(inserted: readonly InsertedJob[], toClaimed: (job: NewJob) => ClaimedJob): void {
    const begun = new Set(inserted.flatMap((job) => (job.begun ? [job.jobId] : [])));
    for (const { job, slot, since } of this.reserved) {
      const { request } = job;
      if (begun.has(request.jobId)) {
        this.effects.begun.push(request);
        slot.begin(toClaimed(job), since);
      } else {
        this.effects.queued.push(request);
        // The job has no queue message. Another job that has ended meanwhile may have freed capacity that the insert did not see, so one more
        // claim is tried.
        this.effects.runnable.push(request);
        slot.release();
      }
    }
  }

  private accept(request: StartRequest, decision: Accepted): StartedJob {
    const slot = decision.isDeferred ? undefined : this.worker.reserve(request.kind);
    const job = toNewJob(request, decision, slot?.owner ?? null);
    this.jobs.push(job);
    if (slot !== undefined) this.reserved.push({ job, slot, since: systemClock.monotonic() });
    const { queued, runnable, threads } = this.effects;
    if (slot === undefined) queued.push(request);
    if (request.startAt !== undefined) return toAnswer(job); // the worker begins it when its queue message is due
    if (decision.isDeferred && decision.thread !== null) threads.add(decision.thread.id);
    else if (slot === undefined) runnable.push(request);
    return toAnswer(job);
  }
}

function toNewJob(request: StartRequest, decision: Accepted, owner: string | null): NewJob {
  const { thread, isDeferred } = decision;
  const messageId = thread === null ? null : newId();
  const target = request.thread;
  const isNewThread = thread?.isNew === true && target !== null;
  return {
    ...{ request, messageId, isDeferred, owner },
    threadId: thread?.id ?? null,
    newThread: isNewThread ? { title: target.createTitle ?? '', clientId: isId(target.ref) ? null : target.ref } : null,
    position: thread?.position ?? 0,
    ancestry: decision.ancestry ?? null,
    event: {
      type: 'job-queued',
      body: {
        kind: request.kind,
        threadId: target?.ref ?? null,
        messageId: request.messageClientId ?? messageId,
        ...(request.workflow === undefined ? {} : { workflowId: request.workflow.id }),
        ...(request.parent === undefined ? {} : { parentJobId: request.parent.jobId }),
        ...defined({ appliedHooks: request.appliedHooks, queuePosition: decision.queuePosition }),
      },
    },
  };
}

function toAnswer({ request, event }: NewJob): StartedJob {
  const { threadId, messageId } = event.type === 'job-queued' ? event.body : { threadId: null, messageId: null };
  return { jobId: request.jobId, status: 'queued', threadId, messageId, replayed: false };
}
