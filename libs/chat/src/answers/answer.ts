import type { JobKind, JobStatus } from '#jobs';
import type { ChatMessage } from '#models';

/** `agent`: the one of the agent that the job chooses. */
export const answerFormats = ['inline', 'open-webui', 'none', 'openai', 'agent'] as const;
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
  /** Of a continuation, and of an answer that resumes one: the results that it applies, and the messages after them. */
  readonly applied: (ContinuationDigests & { readonly said: readonly ChatMessage[] }) | null;
  /** Id of the answer whose applied results this one resumes from; null: it begins by itself, or continues a run. */
  readonly resumes: string | null;
};

/** Tell a repeated continuation from another one. SHA-256, hex. */
export interface ContinuationDigests {
  /** Of the results, and of the conversation that they belong to where no session names it. */
  readonly results: string;
  /** Of what else of the request shapes the answer. */
  readonly request: string;
}

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
  /** An ended job had the id of a pending call before: whether the request continues `pending` is for its conversation to tell. */
  readonly isIdReused: boolean;
  /** The answer of the newest continuation that applied these results, one of an equal request if there is any. */
  readonly applied: AppliedAnswer | null;
}

export interface AppliedAnswer {
  readonly answer: Answer;
  /** The request was equal in everything else that shapes an answer, its model included unless either is `auto`. */
  readonly isSame: boolean;
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
