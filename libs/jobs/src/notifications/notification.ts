/** The events that users are notified of. A cancel is not one of them. */
export const notificationTypes = ['job_completed', 'job_failed', 'input_needed', 'endpoint_disabled'] as const;
export type NotificationType = (typeof notificationTypes)[number];

/**
 * One message for a user: for the starter of a job that had no viewer, or for an owner or admin about a webhook endpoint. Instants in ms
 * since the epoch.
 */
export interface Notification {
  readonly id: string;
  readonly type: NotificationType;
  /** The job that ended or opened the request; in the second case it may be a sub-job. Null if the notification is not about a job. */
  readonly jobId: string | null;
  /** The job that the user started: `jobId` itself unless that is a sub-job. */
  readonly rootJobId: string | null;
  /** The thread of the root job: our id, and the client's id for it. */
  readonly threadId: string | null;
  readonly threadName: string | null;
  /** The request of an `input_needed`, else null. */
  readonly interruptId: string | null;
  /** The webhook endpoint of an `endpoint_disabled`, else null. */
  readonly endpointId: string | null;
  /** For a request, its title; for a job, the current title of its thread or workflow; for an endpoint, its description or host. May be empty. */
  readonly title: string;
  readonly createdAt: number;
  /** Null if it was not read. */
  readonly readAt: number | null;
}

/** Filters a list of notifications; all given members must match. */
export interface NotificationFilter {
  readonly read?: boolean;
  readonly types?: readonly string[];
}
