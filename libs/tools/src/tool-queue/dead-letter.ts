/**
 * Why something lies among the dead letters: a message that cannot be read, a result of a call that is not known, a result that
 * could not be applied, a call that no worker claimed in time, or one whose processes were lost again and again.
 */
export const deadReasons = ['unreadable', 'unknown_call', 'not_applied', 'not_taken', 'attempts'] as const;
export type DeadReason = (typeof deadReasons)[number];

/** What lies in `tool-execution-dead`. For diagnosis: nothing reads it by itself. */
export interface DeadLetter {
  readonly type: 'dead_letter';
  readonly reason: DeadReason;
  /** Null: the message did not say, or not in a way that can be an id. */
  readonly workspace_id: string | null;
  readonly job_id: string | null;
  readonly correlation_id: string | null;
  readonly timestamp: number;
  /** The message itself, if there was one and it is not too large. */
  readonly message: unknown;
}
