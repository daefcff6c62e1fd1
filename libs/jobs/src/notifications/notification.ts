/** The events that users are notified of. A cancel is not one of them. */
export const notificationTypes = ['job_completed', 'job_failed', 'input_needed'] as const;
export type NotificationType = (typeof notificationTypes)[number];

/** One message for the starter of a job, stored because the job had no viewer. Instants in ms since the epoch. */
export interface Notification {
  readonly id: string;
  readonly type: NotificationType;
  /** The job that ended or opened the request; in the second case it may be a sub-job. */
  readonly jobId: string;
  /** The job that the user started: `jobId` itself unless that is a sub-job. */
  readonly rootJobId: string;
  /** The thread of the root job: our id, and the client's name for it. */
  readonly threadId: string | null;
  readonly threadName: string | null;
  /** The request of an `input_needed`, else null. */
  readonly interruptId: string | null;
  /** The title of the request, else the current name of the thread or of the workflow; may be empty. */
  readonly title: string;
  readonly createdAt: number;
  /** Null: not read. */
  readonly readAt: number | null;
}

/** Filters a list of notifications; all given members must match. */
export interface NotificationFilter {
  readonly read?: boolean;
  readonly types?: readonly string[];
}
