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
  heartbeatSeconds: 10, // a handler whose process was killed blocks the next one only until this
  expireInSeconds: 600,
  deleteAfterSeconds: 3_600,
};

/**
 * Each run first sends the message for the next run, which also does the work that a failed run left. At most one message waits in the
 * whole installation; the active message of a killed process does not block it.
 */
const repeated: QueueSettings = { ...maintenance, policy: 'short', retryLimit: 0, deleteAfterSeconds: 300 };

/** A handler reads what is due and settles it once, so a message may be delivered twice, early or late. The sweep finds what failed. */
const timer: QueueSettings = {
  notify: false,
  retryLimit: 3,
  retryDelay: 5,
  heartbeatSeconds: 10,
  expireInSeconds: 60,
  deleteAfterSeconds: 300,
};

/**
 * The message means that a webhook delivery may be due, and it is active while the delivery is sent. The row decides whether it is sent,
 * counts the attempts and keeps the dead letter, so a retry here means only that a process died or the database was unavailable.
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

/** An action of a plugin hook. The heartbeat frees the message of a killed process; a hook runs for a minute at most. */
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

/** The end of a job is to be written to another system, which may be unavailable for an hour. */
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
 * Each has a table of its own, so that tool processes have privileges on these tables alone. A message is active while its call runs. The
 * row of the call decides about retries: its lease is the only one, so a message has no heartbeat. The expiry frees the group of a tool with
 * `concurrency` when a process was killed and its job ended: a call that runs longer than this is no longer counted.
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

/** Have no handler: operators read them, for two weeks. */
const keptLetters: QueueSettings = { retryLimit: 0, retentionSeconds: 1_209_600 };
const deadLetters: QueueSettings = { ...keptLetters, partition: true };

/** Every queue of this build, each after its dead letter queue. The migrator creates the missing ones and updates the others. */
export const queues = {
  'job.chat': jobQueue,
  'job.workflow': jobQueue,
  /** The instant of a job that was accepted for later has come. */
  'job.due': timer,
  /** A job whose conversation is in another system has ended, or is about to, and its handler has not written so. */
  'job.external-end': externalEnd,
  /** An instant of an open interrupt: its expiry, a reminder, or the end of a client's claim. */
  'interrupt.due': timer,
  /** The next slot of a workflow schedule has come. */
  'schedule.due': timer,
  /** A slot is to start its job. */
  'schedule.start': timer,
  /** A webhook delivery is due. */
  'webhook.deliver': delivery,
  [DEAD_ACTIONS]: keptLetters,
  /** A workspace may have notifications for its channels. */
  'notification.due': { ...timer, policy: 'short' },
  /** An action of a plugin hook is to run. */
  'hook.action': hookAction,
  /** A job has a call whose sub-job may not have started, or a sub-job that ended or is no longer needed. */
  'sub-job.due': timer,
  /** Changes of documents wait for the evaluation of their triggers. */
  'trigger.changes': timer,
  /** A trigger is to start a job. */
  'trigger.start': timer,
  /** Finds changes and starts of triggers that have lost their message. */
  'maintenance.triggers': maintenance,
  /** Lets delayed jobs begin that have lost their message. */
  'maintenance.delayed-jobs': maintenance,
  /** Settles interrupts that are due and have lost their message. */
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
  /** Removes what has been kept long enough. */
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

/** What the messages contain. Those of isolated tools are read with a schema before they are used. */
export interface QueueData {
  readonly 'job.chat': JobMessage;
  readonly 'job.workflow': JobMessage;
  readonly 'job.due': JobMessage;
  readonly 'job.external-end': JobMessage;
  readonly 'interrupt.due': { readonly workspaceId: string; readonly jobId: string; readonly interruptId: string };
  readonly 'schedule.due': { readonly workspaceId: string; readonly scheduleId: string };
  readonly 'schedule.start': { readonly workspaceId: string; readonly scheduleId: string; readonly slotAt: number };
  /** `number`: the message of the delivery; its row knows the newest one. */
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
