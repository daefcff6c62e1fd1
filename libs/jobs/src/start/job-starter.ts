import { Injectable } from '@nestjs/common';

import { AppError, crashpoint, DatabaseUnavailable, newId, systemClock, WorkspaceBatches } from '#platform';

import { jobNotFound, startInFlight } from '../jobs.errors.js';
import { Worker } from '../run/worker.js';
import { admitUnseen, decideKnown } from './admit.js';
import { NewJobRepository } from './new-job.repository.js';
import { type InsertedJob, StartRepository } from './start.repository.js';
import { StartAdmission } from './start-admission.js';
import { type StartAnswer, StartBatch } from './start-batch.js';
import { StartEffectsPublisher } from './start-effects.js';
import type { StartedJob, StartRequest } from './start-request.js';

/** A batch that is committed, and the jobs of it that were written. */
interface WrittenBatch {
  readonly batch: StartBatch;
  readonly inserted: readonly InsertedJob[];
}

/**
 * Accepts jobs. What arrives for one workspace in the same moment is decided and written together: one lock, one look at
 * the facts, one insert of jobs, one of queue messages, one commit, however many clients start at once. New conversations are written without a look,
 * by a statement that refuses them when the facts do: the database is asked once. Where this process also works and has a free slot,
 * a job that the caps have room for is accepted as claimed by it: no queue message, no second commit.
 */
@Injectable()
export class JobStarter {
  private readonly batches: WorkspaceBatches<StartRequest, StartedJob | 'again'>;

  constructor(
    private readonly repository: StartRepository,
    private readonly newJobs: NewJobRepository,
    private readonly admission: StartAdmission,
    private readonly worker: Worker,
    private readonly effects: StartEffectsPublisher,
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

  private async startTogether(workspaceId: string, requests: readonly StartRequest[]): Promise<readonly StartAnswer[]> {
    let written: WrittenBatch | undefined;
    try {
      written = (await this.startUnseen(workspaceId, requests)) ?? (await this.startByFacts(workspaceId, requests));
    } catch (error) {
      // Nobody knows what came of it: said once more, each would meet what it may have written.
      if (requests.length === 1 || error instanceof DatabaseUnavailable) throw toStartError(error);
      // One request may have spoiled it for all: each tries alone, so that each gets its own answer.
      const alone = await Promise.allSettled(requests.map((request) => this.startTogether(workspaceId, [request])));
      return alone.map((result): StartAnswer => {
        if (result.status === 'fulfilled') return result.value[0] ?? new Error('no answer');
        return result.reason instanceof Error ? result.reason : new Error(String(result.reason));
      });
    }
    if (written === undefined) return requests.map(() => jobNotFound());
    const { batch, inserted } = written;
    if (batch.holdsSlots) crashpoint('after-own-start');
    batch.begin(inserted, (job) => this.newJobs.claimed(job));
    await this.effects.publish(workspaceId, batch.effects);
    return batch.answers;
  }

  /**
   * New conversations are written at once, and the database looks whether they may be. Undefined: nothing was written, the facts have
   * to decide. It keeps slots of the worker for no longer than the statement takes: who has to wait for the workspace waits there.
   */
  private async startUnseen(workspaceId: string, requests: readonly StartRequest[]): Promise<WrittenBatch | undefined> {
    const decisions = admitUnseen(requests, newId);
    if (decisions === undefined) return undefined;
    let batch = undefined as StartBatch | undefined;
    let inserted: readonly InsertedJob[] = [];
    try {
      inserted = await this.repository.insertUnseen(workspaceId, () => {
        batch = new StartBatch(requests, decisions, this.worker);
        crashpoint('before-queue-message');
        const statement = this.newJobs.insertionUnlessKnown(workspaceId, batch.jobs);
        return { statement, begins: batch.holdsSlots, messages: this.effects.queue.insertions(batch.queued, true) };
      });
    } finally {
      if (inserted.length === 0) batch?.release();
    }
    return batch === undefined || inserted.length === 0 ? undefined : { batch, inserted };
  }

  /** Undefined: there is no such workspace. */
  private async startByFacts(
    workspaceId: string,
    requests: readonly StartRequest[],
  ): Promise<WrittenBatch | undefined> {
    let batch = undefined as StartBatch | undefined;
    let inserted: readonly InsertedJob[];
    try {
      inserted = await this.repository.inWorkspace(workspaceId, async (client) => {
        const decisions = await this.admission.decide(client, workspaceId, requests);
        if (decisions === null) return [];
        batch = new StartBatch(requests, decisions, this.worker);
        batch.effects.superseded.push(...(await this.admission.supersede(client, workspaceId, decisions)));
        if (batch.jobs.length === 0) return [];
        crashpoint('before-queue-message');
        const statement = this.newJobs.insertion(workspaceId, batch.jobs);
        const messages = this.effects.queue.insertions(batch.queued, true);
        return this.repository.lastInsertion(workspaceId, { statement, begins: batch.holdsSlots, messages });
      });
    } catch (error) {
      batch?.release();
      throw error;
    }
    return batch === undefined ? undefined : { batch, inserted };
  }
}

/** 55P03: another start of the workspace holds its lock for more than the lock timeout. */
function toStartError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  return error instanceof Error && 'code' in error && error.code === '55P03' ? startInFlight() : error;
}
