import { isId, newId, systemClock } from '#platform';

import type { ClaimedJob } from '../run/lease.repository.js';
import type { Slot, Worker } from '../run/worker.js';
import type { NewJob } from './new-job.repository.js';
import type { InsertedJob } from './start.repository.js';
import type { StartEffects } from './start-effects.js';
import type { StartDecision, StartedJob, StartRequest } from './start-request.js';

/** What becomes of one request; `again`: decide once more, after the others of its batch. */
export type StartAnswer = StartedJob | Error | 'again';

type Accepted = Extract<StartDecision, { type: 'accept' }>;

/** An accepted job that a worker of this process has a slot for. */
interface HeldJob {
  readonly job: NewJob;
  readonly slot: Slot;
  /** The monotonic instant before its lease was asked for. */
  readonly since: number;
}

/** Starts that are decided and written together. Keeps slots of the worker until one of `begin` and `release` is called. */
export class StartBatch {
  readonly effects: StartEffects = {
    queued: [],
    runnable: [],
    withoutMessage: [],
    begun: [],
    superseded: [],
    threads: new Set(),
  };
  /** To be written. */
  readonly jobs: NewJob[] = [];
  readonly answers: readonly StartAnswer[];
  private readonly held: HeldJob[] = [];

  constructor(
    requests: readonly StartRequest[],
    decisions: readonly StartDecision[],
    private readonly worker: Worker,
  ) {
    this.answers = requests.map((request, i): StartAnswer => {
      const decision = decisions[i];
      if (decision === undefined || decision.type === 'again') return 'again';
      if (decision.type === 'refuse') return decision.error;
      if (decision.type === 'replay') return { ...decision.job, replayed: true };
      return this.accept(request, decision);
    });
  }

  /** Jobs that wait for a worker: their queue messages are sent with them. */
  get queued(): readonly StartRequest[] {
    return this.effects.runnable;
  }

  get holdsSlots(): boolean {
    return this.held.length > 0;
  }

  /** Nothing of it was written. */
  release(): void {
    for (const { slot } of this.held) slot.release();
  }

  /** It is committed: the jobs that were written as claimed begin. The caps have no room for the others: they are queued. */
  begin(inserted: readonly InsertedJob[], toClaimed: (job: NewJob) => ClaimedJob): void {
    const begun = new Set(inserted.flatMap((job) => (job.begun ? [job.jobId] : [])));
    for (const { job, slot, since } of this.held) {
      const { request } = job;
      if (begun.has(request.jobId)) {
        this.effects.begun.push(request);
        slot.begin(toClaimed(job), since);
      } else {
        this.effects.queued.push(request);
        // A job that ended meanwhile may have made room before this one could be seen: one claim finds out.
        this.effects.withoutMessage.push(request);
        slot.release();
      }
    }
  }

  private accept(request: StartRequest, decision: Accepted): StartedJob {
    const slot = decision.inLine ? undefined : this.worker.reserve(request.kind);
    const job = toNewJob(request, decision, slot?.owner ?? null);
    this.jobs.push(job);
    if (slot !== undefined) this.held.push({ job, slot, since: systemClock.monotonic() });
    const { queued, runnable, threads } = this.effects;
    if (slot === undefined) queued.push(request);
    if (decision.inLine && decision.thread !== null) threads.add(decision.thread.id);
    else if (slot === undefined) runnable.push(request);
    return toAnswer(job);
  }
}

function toNewJob(request: StartRequest, decision: Accepted, owner: string | null): NewJob {
  const { thread, inLine } = decision;
  const messageId = thread === null ? null : newId();
  const wish = request.thread;
  const isNewThread = thread?.isNew === true && wish !== null;
  return {
    ...{ request, messageId, inLine, owner },
    threadId: thread?.id ?? null,
    newThread: isNewThread ? { title: wish.createTitle ?? '', clientId: isId(wish.ref) ? null : wish.ref } : null,
    position: thread?.position ?? 0,
    line: decision.line ?? null,
    event: {
      type: 'job-queued',
      body: {
        kind: request.kind,
        threadId: wish?.ref ?? null,
        messageId: request.messageClientId ?? messageId,
        ...(request.workflow === undefined ? {} : { workflowId: request.workflow.id }),
        ...(request.parent === undefined ? {} : { parentJobId: request.parent.jobId }),
        ...(decision.queuePosition === undefined ? {} : { queuePosition: decision.queuePosition }),
      },
    },
  };
}

function toAnswer({ request, event }: NewJob): StartedJob {
  const { threadId, messageId } = event.type === 'job-queued' ? event.body : { threadId: null, messageId: null };
  return { jobId: request.jobId, status: 'queued', threadId, messageId, replayed: false };
}
