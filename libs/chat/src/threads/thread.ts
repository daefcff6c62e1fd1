import type { WhenBusy } from '#jobs';

/** A conversation as readers see it. Instants in ms since the epoch. */
export interface Thread {
  readonly id: string;
  /** The id an outside client gave it, if any. */
  readonly clientId: string | null;
  readonly title: string;
  readonly createdBy: string;
  /** Null: what the workspace says. */
  readonly whenBusy: WhenBusy | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** One entry of a conversation. The answer of a job holds no content of its own: its text is that of the job's rounds. */
export interface Message {
  readonly id: string;
  readonly threadId: string;
  /** 1, 2, 3 … within the thread; the only order there is. */
  readonly position: number;
  readonly role: string;
  readonly clientId: string | null;
  /** As it came in, in the provider's shape; null for the answer of a job. */
  readonly content: unknown;
  /** The job that writes, or wrote, this answer. */
  readonly jobId: string | null;
  readonly createdBy: string | null;
  readonly createdAt: number;
}
