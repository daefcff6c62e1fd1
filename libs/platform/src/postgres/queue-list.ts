import type { Queue } from 'pg-boss';

/** The schema that holds pg-boss's tables. */
export const QUEUE_SCHEMA = 'pgboss';

/** How pg-boss treats the messages of a queue. */
export type QueueSettings = Omit<Queue, 'name'>;

/**
 * The message means that a job may be runnable. Its handler claims the job, so retries and expiry here cover only the time until the
 * claim; the lease of the job does the rest. No NOTIFY: in the transaction of a start it would take a lock of the whole server.
 */
const jobQueue: QueueSettings = { notify: false, retryLimit: 20, expireInSeconds: 900, deleteAfterSeconds: 300 };

/** At most one message waits and one is handled in the whole installation; the next one does what a failed one left. */
const maintenance: QueueSettings = {
  policy: 'stately',
  retryLimit: 2,
  retryDelay: 5,
  expireInSeconds: 600,
  deleteAfterSeconds: 3_600,
};

/** The isolated tool queue: requests, progress and responses, and what could not be processed. The call's row decides about retries. */
export const TOOL_QUEUES = {
  requests: 'tool-execution',
  results: 'tool-results',
  dead: 'tool-execution-dead',
} as const;
const toolQueue: QueueSettings = { retryLimit: 0 };

/** Every queue of this build. The migrator creates the missing ones and updates the settings of the others. */
export const queues = {
  'job.chat': jobQueue,
  'job.workflow': jobQueue,
  /** Removes what has been kept long enough. */
  'maintenance.retention': maintenance,
  [TOOL_QUEUES.requests]: toolQueue,
  [TOOL_QUEUES.results]: toolQueue,
  [TOOL_QUEUES.dead]: toolQueue,
} satisfies Record<string, QueueSettings>;

export type QueueName = keyof QueueData;

interface JobMessage {
  readonly workspaceId: string;
  readonly jobId: string;
}

/** What the messages of the queues with a handler contain: ids, never state. */
export interface QueueData {
  readonly 'job.chat': JobMessage;
  readonly 'job.workflow': JobMessage;
  readonly 'maintenance.retention': null;
}
