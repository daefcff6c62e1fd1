import type { Queue } from 'pg-boss';

/** The schema that holds pg-boss's tables. */
export const QUEUE_SCHEMA = 'pgboss';

/** The settings of a queue of pg-boss. */
export type QueueSettings = Omit<Queue, 'name'>;

/**
 * A message means that a job may be runnable. Its handler claims the job, so retries and expiry cover only the time until the claim; after
 * that, the lease of the job applies. No NOTIFY: in the transaction of a start it would take a server-wide lock.
 */
const jobQueue: QueueSettings = { notify: false, retryLimit: 20, expireInSeconds: 900, deleteAfterSeconds: 300 };

/** At most one message waits and one is active in the whole installation. The next one does the work that a failed one left. */
const maintenance: QueueSettings = {
  policy: 'stately',
  retryLimit: 2,
  retryDelay: 5,
  heartbeatSeconds: 10, // until then, the message of a killed process blocks the next one
  expireInSeconds: 600,
  deleteAfterSeconds: 3_600,
};

/**
 * Each run first sends the message for the next run, which also does the work that a failed run left. At most one message waits in the whole
 * installation. The active message of a killed process does not block the next one.
 */
const repeated: QueueSettings = { ...maintenance, policy: 'short', retryLimit: 0, deleteAfterSeconds: 300 };

/** A handler reads the due work and settles it once, so a message may be delivered twice, early or late. The sweep finds failed work. */
const timer: QueueSettings = {
  notify: false,
  retryLimit: 3,
  retryDelay: 5,
  heartbeatSeconds: 10,
  expireInSeconds: 60,
  deleteAfterSeconds: 300,
};

/**
 * A message means that a webhook delivery may be due, and is active while the delivery is sent. The row decides whether to send, counts the
 * attempts and stores the dead letter, so a retry of the message only means that a process died or the database was unavailable.
 */
const delivery: QueueSettings = {
  notify: false,
  retryLimit: 1_000,
  retryDelay: 1,
  retryBackoff: true,
  retryDelayMax: 60,
  heartbeatSeconds: 10,
  expireInSeconds: 300,
  deleteAfterSeconds: 300,
};

/** Actions of plugin hooks that failed, for operators. */
export const DEAD_ACTIONS = 'hook.action-dead';

/** An action of a plugin hook. The heartbeat releases the message of a killed process; a hook runs for a minute at most. */
const hookAction: QueueSettings = {
  notify: false,
  retryLimit: 5,
  retryDelay: 5,
  retryBackoff: true,
  retryDelayMax: 300,
  heartbeatSeconds: 10,
  expireInSeconds: 120,
  deleteAfterSeconds: 300,
  deadLetter: DEAD_ACTIONS,
};

/** Writes the end of a job to another system, which may be unavailable for an hour. */
const externalEnd: QueueSettings = {
  notify: false,
  retryLimit: 20,
  retryDelay: 5,
  retryBackoff: true,
  retryDelayMax: 300,
  heartbeatSeconds: 10,
  expireInSeconds: 120,
  deleteAfterSeconds: 300,
};

/** The queues of isolated tools: requests, progress and responses, and messages that could not be processed. */
export const TOOL_QUEUES = {
  requests: 'tool-execution',
  results: 'tool-results',
  dead: 'tool-execution-dead',
} as const;

/**
 * Each queue has its own table, so that tool processes have privileges on these tables only. A message is active while its call runs. The row
 * of the call decides about retries: its lease is the only one, so a message has no heartbeat. After the expiry, the group of a tool with
 * `concurrency` no longer counts a message whose process was killed and whose job has ended; it then also stops counting a call that still
 * runs.
 */
const toolRequests: QueueSettings = {
  partition: true,
  retryLimit: 0,
  expireInSeconds: 3_600,
  deleteAfterSeconds: 300,
};

/** Retries of a result while the database or the file storage is unavailable: about a day. */
export const RESULT_RETRIES = 8_640;

/** The handler decides when a result becomes a dead letter. */
const toolResults: QueueSettings = {
  partition: true,
  retryLimit: RESULT_RETRIES,
  retryDelay: 1,
  retryBackoff: true,
  retryDelayMax: 10,
  heartbeatSeconds: 10,
  expireInSeconds: 300,
  deleteAfterSeconds: 300,
  deadLetter: TOOL_QUEUES.dead,
};

/** Queues without a handler: operators read the messages, for two weeks. */
const keptLetters: QueueSettings = { retryLimit: 0, retentionSeconds: 1_209_600 };
const deadLetters: QueueSettings = { ...keptLetters, partition: true };

/** Every queue of this build, each after its dead letter queue. The migrator creates missing ones and updates the others. */
export const queues = {
  'job.chat': jobQueue,
  'job.workflow': jobQueue,
  /** A job that was accepted for later is due. */
  'job.due': timer,
  /** A job whose conversation is in another system has ended, or is about to end, and its handler has not reported so. */
  'job.external-end': externalEnd,
  /** An instant of an open interrupt: its expiry, a reminder, or the end of a client's claim. */
  'interrupt.due': timer,
  /** The next slot of a workflow schedule is due. */
  'schedule.due': timer,
  /** A slot must start its job. */
  'schedule.start': timer,
  /** A webhook delivery is due. */
  'webhook.deliver': delivery,
  [DEAD_ACTIONS]: keptLetters,
  /** A workspace may have notifications for its channels. */
  'notification.due': { ...timer, policy: 'short' },
  /** An action of a plugin hook must run. */
  'hook.action': hookAction,
  /** A job has a call whose sub-job may not have started, or a sub-job that ended or is no longer needed. */
  'sub-job.due': timer,
  /** Changes of documents wait for the evaluation of their triggers. */
  'trigger.changes': timer,
  /** A trigger must start a job. */
  'trigger.start': timer,
  /** Finds changes and starts of triggers that have lost their message. */
  'maintenance.triggers': maintenance,
  /** Starts delayed jobs that have lost their message. */
  'maintenance.delayed-jobs': maintenance,
  /** Settles due interrupts that have lost their message. */
  'maintenance.interrupts': maintenance,
  /** Finds slots of workflow schedules that have lost their message. */
  'maintenance.schedules': maintenance,
  /** Finds webhook deliveries that have lost their message. */
  'maintenance.webhooks': maintenance,
  /** Finds notifications for channels whose hint was lost. */
  'maintenance.notifications': maintenance,
  /** Handles sub-jobs that have lost their message. */
  'maintenance.sub-jobs': maintenance,
  /** Retries actions of plugin hooks whose process was killed. */
  'maintenance.hook-actions': repeated,
  /** Continues calls of isolated tools whose messages or processes were lost. */
  'maintenance.tool-queue': repeated,
  /** Deletes data whose retention period has ended. */
  'maintenance.retention': maintenance,
  [TOOL_QUEUES.dead]: deadLetters,
  [TOOL_QUEUES.requests]: toolRequests,
  [TOOL_QUEUES.results]: toolResults,
} satisfies Record<string, QueueSettings>;

export type QueueName = keyof QueueData;

/** A queue whose messages carry no data: its handler finds the due work in the tables. */
export type MaintenanceQueue = QueueName & `maintenance.${string}`;

interface ActionMessage {
  readonly workspaceId: string;
  readonly jobId: string;
  /** Null: the message is about the end of the job. */
  readonly interruptId: string | null;
  readonly on: 'onInterrupt' | 'onJobFinished' | 'onNotification';
  readonly hook: string;
}

interface JobMessage {
  readonly workspaceId: string;
  readonly jobId: string;
}

/** The data of the messages. Messages of isolated tools are parsed with a schema before use. */
export interface QueueData {
  readonly 'job.chat': JobMessage;
  readonly 'job.workflow': JobMessage;
  readonly 'job.due': JobMessage;
  readonly 'job.external-end': JobMessage;
  readonly 'interrupt.due': { readonly workspaceId: string; readonly jobId: string; readonly interruptId: string };
  readonly 'schedule.due': { readonly workspaceId: string; readonly scheduleId: string };
  readonly 'schedule.start': { readonly workspaceId: string; readonly scheduleId: string; readonly slotAt: number };
  /** `number`: the number of this message; the row stores the newest one. */
  readonly 'webhook.deliver': { readonly workspaceId: string; readonly deliveryId: string; readonly number: number };
  readonly 'notification.due': { readonly workspaceId: string };
  readonly 'hook.action': ActionMessage;
  readonly 'hook.action-dead': ActionMessage;
  readonly 'trigger.changes': { readonly workspaceId: string };
  readonly 'trigger.start': { readonly workspaceId: string; readonly runId: string };
  readonly 'maintenance.triggers': null;
  readonly 'maintenance.delayed-jobs': null;
  readonly 'maintenance.interrupts': null;
  readonly 'maintenance.schedules': null;
  readonly 'maintenance.webhooks': null;
  readonly 'maintenance.notifications': null;
  readonly 'sub-job.due': JobMessage;
  readonly 'maintenance.sub-jobs': null;
  readonly 'maintenance.hook-actions': null;
  readonly 'maintenance.tool-queue': null;
  readonly 'maintenance.retention': null;
  readonly 'tool-execution': object;
  readonly 'tool-results': object;
  readonly 'tool-execution-dead': object;
}
