import type { JobKind, JobStatus } from '#jobs';
import type { ChatMessage } from '#models';

export const answerFormats = ['inline', 'open-webui', 'openai'] as const;
export type AnswerFormat = (typeof answerFormats)[number];

/**
 * Where the job of an answer stands, for who wants to go on in its session. `busy`: it works, or somebody else is awaited.
 * `paused`: it waits for the results of its client, and for nothing else. `over`: it has ended.
 */
export type AnswerState = 'busy' | 'paused' | 'over';

/** What one request of an OpenAI client gets: a window of a job's log, up to the next pause or the job's end. */
export interface Answer {
  readonly workspaceId: string;
  readonly id: string;
  readonly jobId: string;
  readonly principal: string;
  /** As the client names its conversation; null: it does not. */
  readonly sessionId: string | null;
  /** As the request named it. */
  readonly model: string;
  readonly format: AnswerFormat;
  /** The window begins after this event and this round. */
  readonly afterSeq: number;
  readonly afterRound: number;
  /** SHA-256 (hex) of what was asked; null: without a key. */
  readonly requestHash: string | null;
  readonly job: {
    readonly kind: JobKind;
    readonly status: JobStatus;
    readonly lastSeq: number;
    readonly createdBy: string | null;
  };
  readonly state: AnswerState;
  /** The agent that `auto` has chosen; null: none yet, or nobody had to choose. */
  readonly agent: string | null;
}

/** An answer about to be written. */
export type NewAnswer = Pick<
  Answer,
  'id' | 'principal' | 'sessionId' | 'model' | 'format' | 'afterSeq' | 'afterRound'
> & {
  readonly idempotency: { readonly key: string; readonly requestHash: string } | null;
  /** What the client has noted down about its request. */
  readonly about: object | null;
  /** Of a continuation: SHA-256 (hex) of the results that it applies, and what is said after them. */
  readonly applied: { readonly digest: string; readonly said: readonly ChatMessage[] } | null;
};

/** A conversation of one principal, as its client names it. */
export interface AnswerSession {
  readonly threadId: string;
  /** Null: it is gone with its job. */
  readonly latest: Answer | null;
  /** What `latest` must still be when the session moves on. */
  readonly latestId: string;
}

/** What is known about a request before anything is begun for it. */
export interface KnownAnswers {
  /** Null: the client names no session, or a new one. */
  readonly session: AnswerSession | null;
  /** Of the job whose open calls have the ids that were asked about: its newest answer. */
  readonly pending: Answer | null;
  /** That of the continuation that has applied just these results. */
  readonly applied: Answer | null;
}

/** A settled call as an earlier answer of a session showed it. */
export interface AnsweredSessionCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
  /** What the model reads. */
  readonly result: string;
}
