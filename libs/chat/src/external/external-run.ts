import { endsJob, type JobOutcome, type JobRun } from '#jobs';
import { crashpoint } from '#platform';

import type { Conversation, ConversationRepository } from '../history/conversation.repository.js';
import type { CollectedCall } from '../loop/collected-call.js';
import type { ExternalChat, ExternalQuestion, ExternalReference } from './external-chats.js';

/** How long an ending job may take to write its end to the other system, in ms. */
const lastWriteMs = 15_000;

/** One run of a job whose conversation is in another system: reads the conversation there, and writes the end of the job there. */
export class ExternalRun {
  constructor(
    private readonly run: JobRun,
    private readonly chat: ExternalChat,
    private readonly options: {
      readonly reference: ExternalReference;
      readonly isCall: boolean;
      readonly conversations: ConversationRepository;
    },
  ) {}

  /** Returns undefined if the response is already committed, or the job makes a call. */
  async question({ rounds }: Pick<Conversation, 'rounds'>): Promise<ExternalQuestion | undefined> {
    if (this.options.isCall || rounds.some(({ partial }) => !partial)) return undefined;
    const question = await this.chat.question(this.run, this.options.reference);
    crashpoint('after-external-question');
    return question;
  }

  /** Writes the committed response or call end, unless the job waits or another worker continues it. */
  async deliver(outcome: JobOutcome): Promise<JobOutcome> {
    const { signal } = this.run;
    if (outcome.status === 'waiting' || outcome.status === 'released') return outcome;
    if (signal.aborted && !endsJob(signal.reason)) return outcome;
    await this.run.commit();
    crashpoint('before-external-write');
    const written = this.options.isCall ? await this.writeCallEnd(outcome) : await this.writeAnswer(outcome);
    crashpoint('after-external-write');
    return written;
  }

  /** The job ends with this error. A call is written as failed; nothing is written for a response. */
  async fail(error: unknown): Promise<void> {
    if (!this.options.isCall) return;
    await this.writeCallEnd({ status: 'failed', code: 'failed', message: messageOf(this.run.signal, error) });
  }

  private async writeAnswer(outcome: JobOutcome): Promise<JobOutcome> {
    if (outcome.status !== 'completed') return outcome;
    const { rounds } = await this.options.conversations.load(this.run.job);
    const round = rounds.toSorted((a, b) => a.number - b.number).at(-1);
    // JSON written by the tool loop.
    const calls = round === undefined || round.captured === null ? [] : (JSON.parse(round.captured) as CollectedCall[]);
    const isWritten = await this.chat.writeAnswer(this.run, this.options.reference, { text: round?.text ?? '', calls });
    if (isWritten) return outcome;
    return { status: 'failed', code: 'empty_answer', message: 'The model sent an empty response. Ask again.' };
  }

  private async writeCallEnd(outcome: JobOutcome): Promise<JobOutcome> {
    const { calls } = await this.options.conversations.load(this.run.job);
    const failure = outcome.status === 'failed' ? outcome.message : null;
    const { signal } = this.run;
    await this.chat.writeCallEnd(this.run, this.options.reference, {
      ...{ call: calls[0] ?? null, failure },
      signal: signal.aborted ? AbortSignal.timeout(lastWriteMs) : signal,
    });
    return outcome;
  }
}

function messageOf({ aborted, reason }: AbortSignal, error: unknown): string {
  const cause: unknown = aborted ? reason : error;
  return cause instanceof Error ? cause.message : 'The tool call failed';
}
