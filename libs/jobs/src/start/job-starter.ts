import { Injectable } from '@nestjs/common';

import {
  AppError,
  crashpoint,
  isId,
  type LastStatement,
  newId,
  type SqlClient,
  systemClock,
  WorkspaceBatches,
} from '#platform';

import { CancelRepository } from '../cancel/cancel.repository.js';
import { jobNotFound, startInFlight } from '../jobs.errors.js';
import { type Slot, Worker } from '../run/worker.js';
import { admit, decideKnown } from './admit.js';
import { type NewJob, NewJobRepository } from './new-job.repository.js';
import { StartRepository } from './start.repository.js';
import { type Aftermath, StartNews } from './start-news.js';
import type { StartDecision, StartedJob, StartFacts, StartRequest } from './start-request.js';

type Answer = StartedJob | Error | 'again';
type Accepted = Extract<StartDecision, { type: 'accept' }>;

/** What is decided together, and what comes of it. */
interface StartBatch {
  readonly requests: readonly StartRequest[];
  readonly facts: StartFacts;
  readonly aftermath: Aftermath;
  readonly held: HeldJob[];
}

/** An accepted job that a worker of this process has a slot for. */
interface HeldJob {
  readonly job: NewJob;
  readonly slot: Slot;
  /** The monotonic instant before its lease was asked for. */
  readonly since: number;
}

/**
 * Accepts jobs. What arrives for one workspace in the same moment is decided and written together: one lock, one look at
 * the facts, one insert, one doorbell, one commit, however many clients start at once. Where this process also works and has a
 * free slot, a job is accepted as claimed by it: no doorbell, no second commit.
 */
@Injectable()
export class JobStarter {
  private readonly batches: WorkspaceBatches<StartRequest, StartedJob | 'again'>;

  constructor(
    private readonly repository: StartRepository,
    private readonly newJobs: NewJobRepository,
    private readonly cancels: CancelRepository,
    private readonly worker: Worker,
    private readonly news: StartNews,
  ) {
    this.batches = new WorkspaceBatches(
      (workspaceId, requests) => this.startTogether(workspaceId, requests),
      systemClock,
      {
        tickMs: 0,
        maxBatch: 200,
      },
    );
  }

  /** Workspaces that are starting something right now; zero at rest. */
  get starting(): number {
    return this.batches.size;
  }

  /**
   * Accepts `request`, or answers what its idempotency key started before. On return the job is committed. Throws
   * `thread_busy`, `job_limit_reached`, `idempotency_key_mismatch`, `admission_cancelled`, `not_found`, `start_in_flight`.
   */
  async start(request: StartRequest): Promise<StartedJob> {
    for (;;) {
      const answer = await this.batches.submit(request.workspaceId, request);
      if (answer !== 'again') return answer;
    }
  }

  /**
   * What this key has started before, for starts that may be refused for what has changed since; null: nothing yet. Throws
   * `idempotency_key_mismatch`, `admission_cancelled`.
   */
  async replay(
    request: Pick<StartRequest, 'workspaceId' | 'principal'> & {
      readonly idempotency: NonNullable<StartRequest['idempotency']>;
    },
  ): Promise<StartedJob | null> {
    const { workspaceId, principal, idempotency } = request;
    const known = await this.repository.admission(workspaceId, { principal, key: idempotency.key });
    const decision = known === null ? undefined : decideKnown(request, known);
    if (decision === undefined) return null;
    if (decision.type === 'refuse') throw decision.error;
    return { ...decision.job, replayed: true };
  }

  private async startTogether(workspaceId: string, requests: readonly StartRequest[]): Promise<Answer[]> {
    const aftermath: Aftermath = { queued: [], runnable: [], begun: [], superseded: [], threads: new Set() };
    const held: HeldJob[] = [];
    let answers: Answer[];
    try {
      answers = await this.repository.inWorkspace(workspaceId, async (client) => {
        const facts = await this.repository.facts(client, workspaceId, requests);
        if (facts === null) return requests.map(() => jobNotFound());
        return this.store(client, { requests, facts, aftermath, held });
      });
    } catch (error) {
      for (const { slot } of held) slot.release();
      if (requests.length === 1) throw toStartError(error);
      // One request may have spoiled it for all: each tries alone, so that each gets its own answer.
      const alone = await Promise.allSettled(requests.map((request) => this.startTogether(workspaceId, [request])));
      return alone.map((result): Answer => {
        if (result.status === 'fulfilled') return result.value[0] ?? new Error('no answer');
        return result.reason instanceof Error ? result.reason : new Error(String(result.reason));
      });
    }
    if (held.length > 0) crashpoint('after-own-start');
    for (const { job, slot, since } of held) slot.begin(this.newJobs.claimed(job), since);
    await this.news.tell(workspaceId, aftermath);
    return answers;
  }

  private async store(
    client: SqlClient,
    { requests, facts, aftermath, held }: StartBatch,
  ): Promise<Answer[] | LastStatement<Answer[]>> {
    const workspaceId = requests[0]?.workspaceId ?? '';
    const decisions = admit(requests, facts, newId);
    const jobs: NewJob[] = [];
    const answers = requests.map((request, i): Answer => {
      const decision = decisions[i];
      if (decision === undefined || decision.type === 'again') return 'again';
      if (decision.type === 'refuse') return decision.error;
      if (decision.type === 'replay') return { ...decision.job, replayed: true };
      const slot = decision.inLine ? undefined : this.worker.reserve(request.kind);
      const job = this.toNewJob(request, decision, slot);
      jobs.push(job);
      if (slot !== undefined) held.push({ job, slot, since: systemClock.monotonic() });
      noteWhereItStands(request, { ...decision, isHeld: slot !== undefined }, aftermath);
      return toAnswer(job);
    });
    for (const decision of decisions) {
      if (decision.type !== 'accept' || decision.supersedes.length === 0) continue;
      for (const jobId of decision.supersedes) {
        const result = await this.cancels.cancel(client, { workspaceId, jobId, by: 'system', reason: 'superseded' });
        if (result !== null && result.state !== 'terminal') aftermath.superseded.push({ jobId, ...result });
      }
    }
    if (jobs.length === 0) return answers;
    crashpoint('before-doorbell');
    return this.newJobs.insertion(workspaceId, jobs, answers);
  }

  private toNewJob(request: StartRequest, decision: Accepted, slot: Slot | undefined): NewJob {
    const { thread, inLine } = decision;
    const threadId = thread?.id ?? null;
    const messageId = thread === null ? null : newId();
    const wish = request.thread;
    return {
      request,
      threadId,
      messageId,
      inLine,
      newThread:
        thread?.isNew === true && wish !== null
          ? { title: wish.createTitle ?? '', clientId: isId(wish.ref) ? null : wish.ref }
          : null,
      position: thread?.position ?? 0,
      line: decision.line ?? null,
      owner: slot?.owner ?? null,
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
}

function noteWhereItStands(
  request: StartRequest,
  { inLine, thread, isHeld }: Pick<Accepted, 'inLine' | 'thread'> & { readonly isHeld: boolean },
  { queued, runnable, begun, threads }: Aftermath,
): void {
  (isHeld ? begun : queued).push(request);
  if (inLine && thread !== null) threads.add(thread.id);
  else if (!isHeld) runnable.push(request);
}

function toAnswer({ request, event }: NewJob): StartedJob {
  const { threadId, messageId } = event.type === 'job-queued' ? event.body : { threadId: null, messageId: null };
  return { jobId: request.jobId, status: 'queued', threadId, messageId, replayed: false };
}

/** 55P03: another start of the workspace holds its lock for more than the lock timeout. */
function toStartError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  return error instanceof Error && 'code' in error && error.code === '55P03' ? startInFlight() : error;
}
