import type { JobKind, JobStatus } from '#jobs';
import type { ChatMessage } from '#models';

/** The formats of answers. `agent`: the format of the agent that the job chooses. */
export const answerFormats = ['inline', 'open-webui', 'none', 'openai', 'agent'] as const;
export type AnswerFormat = (typeof answerFormats)[number];

/**
 * The state of an answer's job, for a request that continues its session. `busy`: it runs, or waits for more than its client. `paused`: it
 * waits only for the results of its client. `over`: it has ended.
 */
export type AnswerState = 'busy' | 'paused' | 'over';

/** The response to one `/v1` request: a window of a job's log, up to the next pause or the job's end. */
export interface Answer {
  readonly workspaceId: string;
  readonly id: string;
  readonly jobId: string;
  readonly principal: string;
  /** The client's id of its conversation; null if it gave none. */
  readonly sessionId: string | null;
  /** The model that the request named. */
  readonly model: string;
  readonly format: AnswerFormat;
  /** The window begins after this event and this round. */
  readonly afterSeq: number;
  readonly afterRound: number;
  /** SHA-256 (hex) of the request; null for a request without a key. */
  readonly requestHash: string | null;
  readonly job: {
    readonly kind: JobKind;
    readonly status: JobStatus;
    readonly lastSeq: number;
    readonly createdBy: string | null;
  };
  readonly state: AnswerState;
  /** The agent that `auto` has chosen; null if it has chosen none yet, or the request named an agent. */
  readonly agent: string | null;
}

/** An answer to be stored. */
export type NewAnswer = Pick<
  Answer,
  'id' | 'principal' | 'sessionId' | 'model' | 'format' | 'afterSeq' | 'afterRound'
> & {
  readonly idempotency: { readonly key: string; readonly requestHash: string } | null;
  /** The client's notes about its request. */
  readonly about: object | null;
  /** For a continuation, and for an answer that resumes one: the applied results, and the messages after them. */
  readonly applied: (ContinuationDigests & { readonly messages: readonly ChatMessage[] }) | null;
  /** Id of the answer from whose applied results this one resumes. Null if it starts from the beginning, or continues a run. */
  readonly resumes: string | null;
};

/** SHA-256 (hex) digests that distinguish a repeated continuation from another one. */
export interface ContinuationDigests {
  /** Digest of the results, and of their conversation if the request has no session. */
  readonly results: string;
  /** Digest of the other fields of the request that affect the response. */
  readonly request: string;
}

/** A conversation of one principal, by the client's id. */
export interface AnswerSession {
  readonly threadId: string;
  /** Null if it was deleted with its job. */
  readonly latest: Answer | null;
  /** The id that `latest` must still have when the session moves to a new answer. */
  readonly latestId: string;
}

/** The stored `/v1` responses that a request may refer to, read before it starts a job. */
export interface KnownAnswers {
  /** Null if the request has no session id, or a new one. */
  readonly session: AnswerSession | null;
  /** The newest answer of the job whose open calls have the requested ids. */
  readonly pending: Answer | null;
  /** An ended job has used the id of a pending call before, so only the conversation shows whether the request continues `pending`. */
  readonly isIdReused: boolean;
  /** The answer of the newest continuation that applied these results, preferably of an equal request. */
  readonly applied: AppliedAnswer | null;
}

export interface AppliedAnswer {
  readonly answer: Answer;
  /** The request was equal in all other fields that affect the response, including the model unless one is `auto`. */
  readonly isSame: boolean;
}

/** A settled call as an earlier answer of a session showed it. */
export interface AnsweredSessionCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
  /** The result that the model reads. */
  readonly result: string;
}
