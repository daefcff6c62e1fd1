import { Injectable } from '@nestjs/common';

import { AppError, crashpoint, isTransient, newId, sqlState, systemClock, WorkspaceBatches } from '#platform';

import { mismatchedPart } from '../events/commit-part.js';
import { BackgroundJobs } from '../foreground/background-jobs.js';
import { JobOwnersRepository } from '../job-owners.repository.js';
import { jobNotFound, StartConditionFailed, startInFlight } from '../jobs.errors.js';
import { Worker } from '../run/worker.js';
import { admitOptimistically, decideKnown } from './admit.js';
import { NewJobRepository } from './new-job.repository.js';
import { type InsertedJob, StartRepository } from './start.repository.js';
import { StartAdmission } from './start-admission.js';
import { StartBatch, type StartResult } from './start-batch.js';
import { StartEffectsPublisher } from './start-effects.js';
import { StartFilters } from './start-filters.js';
import { keyOwner, type StartedJob, type StartRequest } from './start-request.js';

/** The longest time ahead for which a job may be accepted. */
const longestDelayMs = 366 * 86_400_000;

/** Removes an instant that has passed: the job starts at once. Throws `bad_request` for an instant more than 366 days ahead. */
function withStartAt<Request extends { readonly startAt?: number }>(request: Request): Request {
  const { startAt, ...rest } = request;
  if (startAt === undefined) return request;
  const delayMs = startAt - systemClock.now();
  if (delayMs > longestDelayMs || !Number.isSafeInteger(startAt))
    throw new AppError({ code: 'bad_request', message: 'startAt must be at most 366 days ahead', field: 'startAt' });
  return delayMs > 0 ? request : (rest as Request); // without one optional member
}

/** A committed batch and the jobs it inserted. */
interface WrittenBatch {
  readonly batch: StartBatch;
  readonly inserted: readonly InsertedJob[];
}

/**
 * Accepts jobs. Requests that arrive for one workspace in the same moment are decided and written together: one statement takes the locks, one
 * reads the facts, one inserts the jobs and sends their queue messages, for any number of clients. New conversations are inserted without
 * reading the facts, by a statement that refuses them if a limit is reached or a key is known: one round trip. If this process also runs a
 * worker with a free slot, a job within the caps is inserted as claimed by this worker, without a queue message and a second commit.
 */
@Injectable()
export class JobStarter {
  private readonly batches: WorkspaceBatches<StartRequest, StartedJob | 'again'>;

  constructor(
    private readonly repository: StartRepository,
    private readonly filters: StartFilters,
    private readonly newJobs: NewJobRepository,
    private readonly admission: StartAdmission,
    private readonly worker: Worker,
    private readonly effects: StartEffectsPublisher,
    private readonly background: BackgroundJobs,
    private readonly owners: JobOwnersRepository,
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

  /** Workspaces with a start in progress; zero at rest. */
  get starting(): number {
    return this.batches.size;
  }

  /**
   * Accepts the request, or returns the job that its idempotency key started before. The job is committed on return. Throws `thread_busy`,
   * `job_limit_reached`, `idempotency_key_mismatch`, `admission_cancelled`, `not_found`, `start_in_flight`, `bad_request` (`startAt`),
   * `background_jobs_off` (`startAt`), and `StartConditionFailed`.
   */
  async start(given: StartRequest): Promise<StartedJob> {
    const request = this.inForeground(withStartAt(given));
    for (;;) {
      const answer = await this.submit(request);
      if (answer !== 'again') return answer;
    }
  }

  /** Foreground mode applies neither to sub-jobs nor to delayed jobs. */
  private inForeground(request: StartRequest): StartRequest {
    if (this.background.areOn || request.parent !== undefined) return request;
    if (request.startAt !== undefined) this.background.assertOn();
    return { ...request, foreground: true };
  }

  /**
   * The job that this idempotency key started before; null if there is none. Call it before a refusal: something may have changed since the first start.
   * Throws `idempotency_key_mismatch`, `admission_cancelled`.
   */
  async replay(
    request: Pick<StartRequest, 'workspaceId' | 'principal'> & {
      readonly idempotency: NonNullable<StartRequest['idempotency']>;
    },
  ): Promise<StartedJob | null> {
    const { workspaceId, idempotency } = request;
    const principal = keyOwner(request);
    const known = await this.repository.findKey(workspaceId, { principal, key: idempotency.key });
    const decision = known === null ? undefined : decideKnown(request, known);
    if (decision === undefined) return null;
    if (decision.type === 'refuse') throw decision.error;
    return { ...decision.job, replayed: true };
  }

  /** Throws the errors of the filter. A repeated start skips the filter, because the first start has passed it. */
  private async submit(request: StartRequest): Promise<StartedJob | 'again'> {
    const { filter } = this.filters;
    if (filter === null) return this.batches.submit(request.workspaceId, request);
    const { idempotency } = request;
    const known = idempotency === null ? null : await this.replay({ ...request, idempotency });
    if (known !== null) return known;
    const filtered = await filter(request);
    for (;;) {
      const answer = await this.batches.submit(filtered.workspaceId, filtered);
      if (answer !== 'again') return answer;
    }
  }

  private async startTogether(workspaceId: string, requests: readonly StartRequest[]): Promise<readonly StartResult[]> {
    let written: WrittenBatch | undefined;
    try {
      written =
        (await this.startOptimistically(workspaceId, requests)) ?? (await this.startLocked(workspaceId, requests));
    } catch (error) {
      const failed = mismatchedPart(error);
      const refused = requests.filter(({ condition }) => condition !== undefined && condition.part.name === failed);
      if (refused.length > 0) return this.startOthers(workspaceId, requests, refused);
      if (requests.length === 1 || failsEachRequest(error)) throw toStartError(error);
      return this.startHalves(workspaceId, requests);
    }
    if (written === undefined) return requests.map(() => jobNotFound());
    const { batch, inserted } = written;
    if (batch.hasReservedSlots) crashpoint('after-own-start');
    batch.begin(inserted, (job) => this.newJobs.claimed(job));
    for (const { request } of batch.jobs) this.owners.remember(request);
    await this.effects.publish(workspaceId, batch.effects);
    return batch.answers;
  }

  /**
   * Call it for a batch that wrote nothing because the condition of a request failed. The error does not name the
   * request, so all requests with such a condition are refused; their callers can decide again. The others are written together.
   */
  private async startOthers(
    workspaceId: string,
    requests: readonly StartRequest[],
    refused: readonly StartRequest[],
  ): Promise<readonly StartResult[]> {
    const others = requests.filter((request) => !refused.includes(request));
    const results = others.length === 0 ? [] : await this.startTogether(workspaceId, others).catch(toResult);
    return requests.map((request) => {
      if (refused.includes(request)) return new StartConditionFailed();
      return results instanceof Error ? results : (results[others.indexOf(request)] ?? noResult());
    });
  }

  /**
   * Call it for a batch that wrote nothing because of one or more of its requests: each gets its own result after about `2 log2(n)` statements
   * for each of them. The halves are written one after the other, so a workspace never uses more than one connection.
   */
  private async startHalves(workspaceId: string, requests: readonly StartRequest[]): Promise<readonly StartResult[]> {
    const results: StartResult[] = [];
    const middle = requests.length >> 1;
    for (const half of [requests.slice(0, middle), requests.slice(middle)]) {
      const written = this.startTogether(workspaceId, half);
      results.push(...(await written.catch((error: unknown) => half.map(() => toResult(error)))));
    }
    return results;
  }

  /**
   * Inserts new conversations at once; the statement checks whether they are allowed. Returns undefined if nothing was written and the facts
   * must decide. Reserves worker slots only while the statement runs: it never waits for the workspace's lock.
   */
  private async startOptimistically(
    workspaceId: string,
    requests: readonly StartRequest[],
  ): Promise<WrittenBatch | undefined> {
    const decisions = admitOptimistically(requests, newId);
    if (decisions === undefined) return undefined;
    let batch = undefined as StartBatch | undefined;
    let inserted: readonly InsertedJob[] = [];
    try {
      inserted = await this.repository.insertOptimistically(workspaceId, () => {
        batch = new StartBatch(requests, decisions, this.worker);
        crashpoint('before-queue-message');
        const statement = this.newJobs.insertionUnlessKnown(workspaceId, batch.jobs);
        return { statement, begins: batch.hasReservedSlots };
      });
    } finally {
      if (inserted.length === 0) batch?.release();
    }
    return batch === undefined || inserted.length === 0 ? undefined : { batch, inserted };
  }

  /** Returns undefined if the workspace does not exist. */
  private async startLocked(workspaceId: string, requests: readonly StartRequest[]): Promise<WrittenBatch | undefined> {
    let batch = undefined as StartBatch | undefined;
    let inserted: readonly InsertedJob[];
    try {
      inserted = await this.repository.inWorkspace(workspaceId, async (tx) => {
        const decisions = await this.admission.decide(tx, workspaceId, requests);
        if (decisions === null) return [];
        batch = new StartBatch(requests, decisions, this.worker);
        batch.effects.superseded.push(...(await this.admission.supersede(tx, workspaceId, decisions)));
        if (batch.jobs.length === 0) return [];
        crashpoint('before-queue-message');
        const statement = this.newJobs.insertion(workspaceId, batch.jobs);
        await this.newJobs.sendDelayed(tx, batch.jobs);
        return this.repository.insert(tx, workspaceId, { statement, begins: batch.hasReservedSlots });
      });
    } catch (error) {
      batch?.release();
      throw error;
    }
    return batch === undefined ? undefined : { batch, inserted };
  }
}

function noResult(): Error {
  return new Error('the batch returned no result');
}

function toResult(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

/**
 * The outcome is unknown, so a second attempt could conflict with the rows that the first has written; or a timeout has passed, and each
 * further attempt could wait as long. A conflict with another transaction (class 40) may concern only one request.
 */
function failsEachRequest(error: unknown): boolean {
  return isTransient(error) && sqlState(error)?.startsWith('40') !== true;
}

/** 55P03: another transaction has locked the workspace, or a thread or parent job of the batch, for longer than the lock timeout. */
function toStartError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  return sqlState(error) === '55P03' ? startInFlight() : error;
}
