import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import { type HeldJob, JobAmender } from '#jobs';
import type { ChatMessage, ModelParameters } from '#models';
import { newId, toStorable } from '#platform';
import { type HandedCall, HandedCalls } from '#tools';

import type { Answer, ContinuationDigests, NewAnswer } from './answer.js';
import { AnswerWritesRepository } from './answer-writes.repository.js';
import { AnswersRepository } from './answers.repository.js';

/** A run that waits for its client, under the lock of its job and session. */
export interface HeldAnswer {
  /** The newest of the job; `state` tells where the job stands. */
  readonly answer: Answer;
  /** The calls that it waits for, in the order of the model. */
  readonly callIds: readonly string[];
}

/** What a client says to a run that waits for it. */
export interface ContinuationOrder {
  /** Text by the id of the call; exactly one for each call that is waited for. */
  readonly results: ReadonlyMap<string, string>;
  readonly digests: ContinuationDigests;
  /** What is said after the results. */
  readonly said: readonly ChatMessage[];
  readonly idempotency: NewAnswer['idempotency'];
  readonly about: NewAnswer['about'];
  /** Sampling parameters of the rounds that follow; they replace those of the run. */
  readonly parameters: ModelParameters;
}

/** Brings what clients were asked to run back to the job that waits for it. */
@Injectable()
export class Continuations {
  constructor(
    private readonly amender: JobAmender,
    private readonly answers: AnswersRepository,
    private readonly writes: AnswerWritesRepository,
    private readonly calls: HandedCalls,
  ) {}

  /**
   * `decide` looks at the run while nothing of it can move, and says what to do, or throws, or gives null: then nothing has changed. In the same
   * transaction all calls are settled, what is said beside them is kept, the job goes on, and the new answer begins. Null: the
   * job is not this principal's, not there, or `decide` wants nothing. May throw what `isOvertaken` recognises.
   */
  async apply(
    principal: Principal,
    { workspaceId, jobId, principal: owner }: Pick<Answer, 'workspaceId' | 'jobId' | 'principal'>,
    decide: (held: HeldAnswer) => ContinuationOrder | null,
  ): Promise<Answer | null> {
    if (principal.workspaceId !== workspaceId || principal.id !== owner) return null;
    return this.amender.amend(workspaceId, jobId, async (job) => {
      const answer = await this.answers.latestOf(job.client, workspaceId, jobId);
      if (answer?.principal !== principal.id) return null;
      await this.writes.lockSession(job, answer);
      const handed = answer.state === 'paused' ? await this.calls.waiting(job) : [];
      const order = decide({ answer, callIds: handed.map(({ call }) => call.callId) });
      return order === null ? null : this.goOn(job, { answer, handed, order });
    });
  }

  private async goOn(
    job: HeldJob,
    { answer, handed, order }: { answer: Answer; handed: readonly HandedCall[]; order: ContinuationOrder },
  ): Promise<Answer> {
    const { results: texts, digests, said, idempotency, about, parameters } = order;
    await this.calls.settle(job, handed, { texts, submission: digests.results, by: answer.principal });
    const { sessionId, principal, model, format, job: row } = answer;
    if (job.row.kind === 'chat')
      job.changeInput({ parameters: Object.keys(parameters).length === 0 ? undefined : toStorable(parameters) });
    const next: NewAnswer = {
      ...{ id: newId(), principal, sessionId, model, format, idempotency, about },
      afterSeq: row.lastSeq,
      afterRound: Math.max(...handed.map(({ call }) => call.round)),
      applied: { ...digests, said },
      resumes: null,
    };
    await this.writes.insert(job, next);
    await this.writes.keepSaid(job, next.afterRound, said);
    await this.writes.moveSession(job, answer, next.id);
    const begun = await this.answers.latestOf(job.client, job.workspaceId, job.jobId);
    if (begun === null) throw new Error(`job ${job.jobId} lost its answers under its lock`);
    return begun;
  }
}
