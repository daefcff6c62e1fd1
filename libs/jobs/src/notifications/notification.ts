/** What people are told of. A job that was cancelled is nobody's news. */
export const notificationTypes = ['job_completed', 'job_failed', 'input_needed'] as const;
export type NotificationType = (typeof notificationTypes)[number];

/** One thing that the starter of a job is told, because nobody watched. Instants in ms since the epoch. */
export interface Notification {
  readonly id: string;
  readonly type: NotificationType;
  /** The job that has ended, or that asks; the latter may be a sub-job. */
  readonly jobId: string;
  /** The job that a person started: `jobId` itself unless that one is a sub-job. */
  readonly rootJobId: string;
  /** The thread of the latter, by our id, and as its starter names it. */
  readonly threadId: string | null;
  readonly threadName: string | null;
  /** The request, if it is about one. */
  readonly interruptId: string | null;
  /** What is asked, else the name of the thread or of the workflow as it is now; may be empty. */
  readonly title: string;
  readonly createdAt: number;
  /** Null: not read. */
  readonly readAt: number | null;
}

/** Which notifications a list shows; every member narrows it. */
export interface NotificationFilter {
  readonly read?: boolean;
  readonly types?: readonly string[];
}
