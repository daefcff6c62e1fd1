import type { JobEventType } from './job-event.js';

interface Meaning {
  /** Members of the body besides `seq`, `jobId`, `at`, `attempt`. */
  readonly body: string;
  readonly meaning: string;
}

/** The meaning of each event type, for PROTOCOL.md. The type requires an entry for every type of event. */
export const jobEventMeanings: Readonly<Record<JobEventType, Meaning>> = {
  'job-queued': {
    body: '`kind`, `threadId`, `messageId`, `workflowId?`, `parentJobId?`, `queuePosition?`, `appliedHooks?`',
    meaning:
      'The job was accepted. Always number 1. `queuePosition` counts from 1 behind the active job of the thread. `parentJobId` is set for sub-jobs. `appliedHooks`: the changes that hooks made to the request, in the format of `hook-applied`.',
  },
  'job-started': {
    body: '`epoch`',
    meaning: 'A worker claimed the job. Each claim raises the epoch.',
  },
  'agent-selected': {
    body: '`agent`, `version`, `name`, `slug`, `reasoning`, `fallback`, `usage?`, `usageEstimated?`',
    meaning:
      'The job chose its agent. `fallback`: no agent fitted, so the default agent is used. `usage`: the tokens of the choice.',
  },
  'round-started': { body: '`round`, `model`, `nodeId?`', meaning: 'The model was called.' },
  'text-delta': {
    body: '`round`, `offset?`, `text`, `nodeId?`, `branchId?`',
    meaning:
      'Text at `offset` (UTF-16) of the content of the job. Without `offset`, the text is not part of the content of the job; show it only at its node. Deltas are trimmed some time after the end.',
  },
  'reasoning-delta': {
    body: '`round`, `offset?`, `text`, `nodeId?`, `branchId?`',
    meaning: 'The same for reasoning, with offsets of its own.',
  },
  'round-restarted': {
    body: '`round`, `reason`, `contentLength`, `reasoningLength`, `nodeId?`, `branchId?`',
    meaning:
      'The round restarts. Discard (1) what this round showed at its node, (2) the content after `contentLength` and (3) the reasoning after `reasoningLength`. If (2) or (3) contain text of other rounds, the server sends that text again, without `nodeId`. Raises `attempt` by one.',
  },
  'model-retry': {
    body: '`round`, `failures`, `delayMs`, `retryAt`, `code`, `reason`, `waits`, `nodeId?`',
    meaning:
      'The model provider could not be used. The request is sent again at `retryAt` (ms since the epoch), `delayMs` from now. `failures`: failed requests in a row. `code` and `reason` say why. `waits: true`: the job is `waiting` until then, unless other nodes run; false: it keeps its worker.',
  },
  'round-finished': {
    body: '`round`, `finishReason`, `usage`, `usageEstimated?`, `toolCallIds`',
    meaning: 'The response and its tool calls are committed.',
  },
  'tool-call': {
    body: '`round`, `internalStatus`, `call`, `nodeId?`',
    meaning: 'The model requested a tool call.',
  },
  'tool-call-updated': {
    body: '`round`, `internalStatus`, `call`, `nodeId?`',
    meaning:
      'The status of a tool call changed. `call.args` are the arguments that run. If a person edited them, `call.proposedArgs` are those of the model.',
  },
  'tool-progress': {
    body: '`callId`, `seqInCall`, `progress?`, `total?`, `message?`, `subJobId?`',
    meaning: 'Progress of a call, for display only. At most two events per second and call.',
  },
  'hook-applied': {
    body: '`hook`, `on`, `what`, `reason`, `round?`, `callId?`, `nodeId?`',
    meaning:
      'A plugin hook changed or ended a step of the job. `on`: the kind of the hook. `what`: the members of its outcome, such as `arguments` or `deny`, or `hook_failed`. `reason` is empty if the hook gave none.',
  },
  'interrupt-opened': {
    body: '`interruptId`, `kind`, `callId?`, `nodeId?`, `title`, `expiresAt`, `request`',
    meaning: 'The job opened a request; it may still run other calls or nodes. `request` depends on the kind.',
  },
  'interrupt-reminder': {
    body: '`interruptId`, `kind`, `title`, `expiresAt`',
    meaning: 'The request is still open. Sent once a day.',
  },
  'interrupt-resolved': {
    body: '`interruptId`, `outcome`, `decidedBy?`, `decidedAt`',
    meaning: 'The request was settled by a decision, a result or its expiry, or because its job or node ended.',
  },
  'job-waiting': { body: '`interruptIds`', meaning: 'The job waits and occupies no worker.' },
  'job-requeued': { body: '`reason`', meaning: 'The job is queued again.' },
  'node-started': {
    body: '`nodeRunId`, `nodeId`, `label`, `type`, `path`, `iteration?`',
    meaning: 'A workflow node started. `path`: the enclosing nodes. `iteration`: of the innermost loop or map, from 1.',
  },
  'node-progress': {
    body: '`nodeRunId`, `nodeId`, `progress?`, `total?`, `message?`',
    meaning: 'Progress of a plugin node, for display only. At most two events per second and node run.',
  },
  'node-finished': {
    body: '`nodeRunId`, `nodeId`, `label`, `type`, `path`, `iteration?`, `status`, `output`, `error?`, `tokenCount?`, `route?`',
    meaning: 'A node run ended. A long `output` is truncated.',
  },
  'branch-started': {
    body: '`nodeRunId`, `nodeId`, `branchId`, `label`',
    meaning: 'A branch of a parallel node started. Emitted once, also after a crash.',
  },
  'branch-finished': {
    body: '`nodeRunId`, `nodeId`, `branchId`, `label`, `status`, `output`, `error?`',
    meaning: 'The branch ended. Emitted once, after `branch-started`.',
  },
  'route-selected': {
    body: '`nodeId`, `routeId`, `name`, `reasoning`, `fallbackUsed`',
    meaning: 'A router chose a route.',
  },
  'loop-iteration': {
    body: '`nodeId`, `iteration`, `maxIterations`',
    meaning: 'A loop started an iteration, counted from 1.',
  },
  warning: {
    body: '`code`, `text`, `nodeId?`',
    meaning: 'A problem that a person should know about. The job continues.',
  },
  'job-cancel-requested': { body: '`by`, `reason`', meaning: 'Cancellation was requested; the worker is notified.' },
  'job-finished': {
    body: '`status`, `reason`, `error?`, `content_length`, `usage`, `durationMs`, `toolCalls`, `rounds`',
    meaning: 'The job ended. Always the last event, exactly once.',
  },
};
