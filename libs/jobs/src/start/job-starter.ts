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

import { CancelRepository, type CancelResult } from '../cancel/cancel.repository.js';
import { Doorbell } from '../doorbell/doorbell.js';
import { JobTelemetry } from '../job.telemetry.js';
import { jobNotFound, startInFlight } from '../jobs.errors.js';
import { ThreadLine } from '../line/thread-line.js';
import { admit, decideKnown } from './admit.js';
import { type NewJob, StartRepository } from './start.repository.js';
import type { StartDecision, StartedJob, StartFacts, StartRequest } from './start-request.js';

type Answer = StartedJob | Error | 'again';

/** What has to be told to others once the transaction is through. */
interface Aftermath {
  readonly runnable: StartRequest[];
  readonly accepted: StartRequest[];
  /** Jobs that were ended, or asked to stop. */
  readonly superseded: (CancelResult & { readonly jobId: string })[];
  /** Threads whose line may have to move. */
  readonly threads: Set<string>;
}

/**
 * Accepts jobs. What arrives for one workspace in the same moment is decided and written together: one lock, one look at
 * the facts, one insert, one doorbell, one commit, however many clients start at once.
 */
@Injectable()
export class JobStarter {
  private readonly batches: WorkspaceBatches<StartRequest, StartedJob | 'again'>;

  constructor(
    private readonly repository: StartRepository,
    private readonly cancels: CancelRepository,
    private readonly doorbell: Doorbell,
    private readonly line: ThreadLine,
    private readonly telemetry: JobTelemetry,
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
    const aftermath: Aftermath = { runnable: [], accepted: [], superseded: [], threads: new Set() };
    let answers: Answer[];
    try {
      answers = await this.repository.inWorkspace(workspaceId, async (client) => {
        const facts = await this.repository.facts(client, workspaceId, requests);
        if (facts === null) return requests.map(() => jobNotFound());
        return this.store(client, { requests, facts, aftermath });
      });
    } catch (error) {
      if (requests.length === 1) throw toStartError(error);
      // One request may have spoiled it for all: each tries alone, so that each gets its own answer.
      const alone = await Promise.allSettled(requests.map((request) => this.startTogether(workspaceId, [request])));
      return alone.map((result): Answer => {
        if (result.status === 'fulfilled') return result.value[0] ?? new Error('no answer');
        return result.reason instanceof Error ? result.reason : new Error(String(result.reason));
      });
    }
    await this.tell(workspaceId, aftermath);
    return answers;
  }

  private async store(
    client: SqlClient,
    { requests, facts, aftermath }: { requests: readonly StartRequest[]; facts: StartFacts; aftermath: Aftermath },
  ): Promise<Answer[] | LastStatement<Answer[]>> {
    const workspaceId = requests[0]?.workspaceId ?? '';
    const decisions = admit(requests, facts, newId);
    const jobs: NewJob[] = [];
    const answers = requests.map((request, i): Answer => {
      const decision = decisions[i];
      if (decision === undefined || decision.type === 'again') return 'again';
      if (decision.type === 'refuse') return decision.error;
      if (decision.type === 'replay') return { ...decision.job, replayed: true };
      const job = this.toNewJob(request, decision);
      jobs.push(job);
      aftermath.accepted.push(request);
      if (decision.inLine && decision.thread !== null) aftermath.threads.add(decision.thread.id);
      else aftermath.runnable.push(request);
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
    return this.repository.insertion(workspaceId, jobs, answers);
  }

  private toNewJob(request: StartRequest, decision: Extract<StartDecision, { type: 'accept' }>): NewJob {
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

  /** Everything is committed: whatever fails here costs latency only, and no start is answered with an error for it. */
  private async tell(workspaceId: string, { runnable, accepted, superseded, threads }: Aftermath): Promise<void> {
    this.telemetry.commits.inc({ writer: 'start' });
    for (const { jobId, kind } of accepted) {
      this.telemetry.accepted.inc({ kind });
      this.doorbell.hintGrown({ workspaceId, jobId, seq: 1, status: 'queued' });
    }
    for (const { jobId, kind } of runnable) this.doorbell.hint({ workspaceId, jobId, kind });
    for (const { jobId, state, seq, status } of superseded) {
      if (state === 'requested') this.doorbell.hintCancel({ workspaceId, jobId, why: 'superseded' });
      this.doorbell.hintGrown({ workspaceId, jobId, seq, status });
      if (state === 'ended') this.doorbell.hintSubJobs({ workspaceId, jobId });
    }
    // The active job may have ended while we queued up behind it; whoever looks last moves the line.
    for (const threadId of threads) {
      try {
        await this.line.advance(workspaceId, threadId);
      } catch (error) {
        this.telemetry.logger.warn({ err: error, workspaceId, threadId }, 'a line could not be advanced');
      }
    }
  }
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
