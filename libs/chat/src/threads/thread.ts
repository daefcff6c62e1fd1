import type { WhenBusy } from '#jobs';

/** A conversation as an API shows it. Instants in ms since the epoch. */
export interface Thread {
  readonly id: string;
  /** The id that a client gave it, if any. */
  readonly clientId: string | null;
  readonly title: string;
  readonly createdBy: string;
  /** For a chat of another system: the id that its user has there. */
  readonly externalUserId: string | null;
  /** Null: the setting of the workspace. */
  readonly whenBusy: WhenBusy | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** One entry of a conversation. The response of a job has no content of its own: its text is that of the job's rounds. */
export interface Message {
  readonly id: string;
  readonly threadId: string;
  /** 1, 2, 3 … within the thread; defines the order. */
  readonly position: number;
  readonly role: string;
  readonly clientId: string | null;
  /** As the client sent it, in the provider's format; null for the response of a job. */
  readonly content: unknown;
  /** The job that writes, or wrote, this response. */
  readonly jobId: string | null;
  readonly createdBy: string | null;
  readonly createdAt: number;
}
