import { Injectable } from '@nestjs/common';

import { type FilteredEnds, type HandedCall, HandedCalls } from '#approvals';
import type { Principal } from '#auth';
import { JobUpdater, type LockedJob } from '#jobs';
import type { ChatMessage, ModelParameters } from '#models';
import { newId, toStorable } from '#platform';

import type { Answer, ContinuationDigests, NewAnswer } from './answer.js';
import { AnswerWritesRepository } from './answer-writes.repository.js';
import { AnswersRepository } from './answers.repository.js';

/** A run that waits for its client; its job and session are locked. */
export interface LockedAnswer {
  /** The newest answer of the job; `state` is that of the job. */
  readonly answer: Answer;
  /** The open calls, in the order of the model. */
  readonly callIds: readonly string[];
}

/** The client's input for a run that waits for it. */
export interface ContinuationInput {
  /** Text by call id; exactly one for each open call. */
  readonly results: ReadonlyMap<string, string>;
  readonly digests: ContinuationDigests;
  /** The messages after the results. */
  readonly messages: readonly ChatMessage[];
  readonly idempotency: NewAnswer['idempotency'];
  readonly about: NewAnswer['about'];
  /** Sampling parameters of the following rounds; they replace those of the run. */
  readonly parameters: ModelParameters;
}

/** A continuation under the lock of its job. */
interface Continuation {
  readonly answer: Answer;
  readonly handed: readonly HandedCall[];
  readonly order: ContinuationInput;
}

/** The result of a continuation, or the results that must pass the hooks first. */
type Applied = { readonly answer: Answer } | { readonly unfiltered: Pick<Continuation, 'handed' | 'order'> };

type Decide = (locked: LockedAnswer) => ContinuationInput | null;

/** Applies the results of client tools to the job that waits for them. */
@Injectable()
export class Continuations {
  constructor(
    private readonly updater: JobUpdater,
    private readonly answers: AnswersRepository,
    private readonly writes: AnswerWritesRepository,
    private readonly calls: HandedCalls,
  ) {}

  /**
   * `decide` reads the run under the lock and returns what to apply; if it throws or returns null, nothing changes. One transaction settles
   * all calls, stores the messages that came with the results, re-queues the job and starts the new answer. Returns null if the job is absent
   * or belongs to another principal, or if `decide` returned null. If the results must pass hooks, `decide` is called again after the hooks.
   * May throw an error that `isConcurrentWrite` recognizes.
   */
  async apply(
    principal: Principal,
    { workspaceId, jobId, principal: owner }: Pick<Answer, 'workspaceId' | 'jobId' | 'principal'>,
    decide: Decide,
  ): Promise<Answer | null> {
    if (principal.workspaceId !== workspaceId || principal.id !== owner) return null;
    const first = await this.look(principal, { workspaceId, jobId }, { decide, ends: null });
    if (first === null || 'answer' in first) return first?.answer ?? null;
    const { handed, order } = first.unfiltered;
    const ends = await this.calls.filtered({ workspaceId, jobId }, handed, order.results);
    const second = await this.look(principal, { workspaceId, jobId }, { decide, ends });
    return second !== null && 'answer' in second ? second.answer : null;
  }

  /** Applies the submitted results under the lock of the job. `ends` null: the hooks have not run on them yet. */
  private look(
    principal: Principal,
    { workspaceId, jobId }: Pick<Answer, 'workspaceId' | 'jobId'>,
    { decide, ends }: { readonly decide: Decide; readonly ends: FilteredEnds | null },
  ): Promise<Applied | null> {
    return this.updater.update(workspaceId, jobId, async (job): Promise<Applied | null> => {
      const answer = await this.answers.latestOf(job.client, workspaceId, jobId);
      if (answer?.principal !== principal.id) return null;
      await this.writes.lockSession(job, answer);
      const handed = answer.state === 'paused' ? await this.calls.waiting(job) : [];
      const order = decide({ answer, callIds: handed.map(({ call }) => call.callId) });
      if (order === null) return null;
      const settled = ends ?? this.calls.unhooked(job, handed, order.results);
      if (settled === null) return { unfiltered: { handed, order } };
      return { answer: await this.continueJob(job, { answer, handed, order }, settled) };
    });
  }

  private async continueJob(
    job: LockedJob,
    { answer, handed, order }: Continuation,
    ends: FilteredEnds,
  ): Promise<Answer> {
    const { digests, messages, idempotency, about, parameters } = order;
    await this.calls.settle(job, handed, { ends, submission: digests.results, by: answer.principal });
    const { sessionId, principal, model, format, job: row } = answer;
    if (job.row.kind === 'chat')
      job.changeInput({ parameters: Object.keys(parameters).length === 0 ? undefined : toStorable(parameters) });
    const next: NewAnswer = {
      ...{ id: newId(), principal, sessionId, model, format, idempotency, about },
      afterSeq: row.lastSeq,
      afterRound: Math.max(...handed.map(({ call }) => call.round)),
      applied: { ...digests, messages },
      resumes: null,
    };
    await this.writes.insert(job, next);
    await this.writes.storeUserMessages(job, next.afterRound, messages);
    await this.writes.moveSession(job, answer, next.id);
    const begun = await this.answers.latestOf(job.client, job.workspaceId, job.jobId);
    if (begun === null) throw new Error(`job ${job.jobId} lost its answers under its lock`);
    return begun;
  }
}
