import type { JobEventType } from './job-event.js';

interface Meaning {
  /** Members of the body besides `seq`, `jobId`, `at`, `attempt`. */
  readonly body: string;
  readonly says: string;
}

/** What each kind says, for PROTOCOL.md. Every kind has an entry, or this does not compile. */
export const jobEventMeanings: Readonly<Record<JobEventType, Meaning>> = {
  'job-queued': {
    body: '`kind`, `threadId`, `messageId`, `workflowId?`, `parentJobId?`, `queuePosition?`',
    says: 'The job was accepted. Always number 1. `queuePosition` counts from 1 behind the active job of its thread. A sub-job names its parent.',
  },
  'job-started': {
    body: '`epoch`',
    says: 'A worker holds the job. Each claim has a higher epoch than the one before.',
  },
  'agent-selected': {
    body: '`agent`, `version`, `name`, `slug`, `reasoning`, `fallback`, `usage?`, `usageEstimated?`',
    says: 'Which agent answers, where the job was to choose one. `fallback`: nobody fitted, and the default agent does it. `usage`: what the choice has cost.',
  },
  'round-started': { body: '`round`, `model`, `nodeId?`', says: 'The model is being asked.' },
  'text-delta': {
    body: '`round`, `offset?`, `text`, `nodeId?`, `branchId?`',
    says: 'Text, from `offset` (UTF-16) in the content of the job; without `offset` it is shown at its node only. Trimmed some time after the end.',
  },
  'reasoning-delta': {
    body: '`round`, `offset?`, `text`, `nodeId?`, `branchId?`',
    says: 'The same for reasoning, counted by itself.',
  },
  'round-restarted': {
    body: '`round`, `reason`, `contentLength`, `reasoningLength`, `nodeId?`, `branchId?`',
    says: 'Text beyond the two lengths is withdrawn, and at the node what the round has shown. What other rounds had shown beyond them follows again, without a `nodeId`. Raises `attempt` by one.',
  },
  'round-finished': {
    body: '`round`, `finishReason`, `usage`, `usageEstimated?`, `toolCallIds`',
    says: 'The answer is complete and on disk, with its calls.',
  },
  'tool-call': {
    body: '`round`, `internalStatus`, `call`, `nodeId?`',
    says: 'A call the model asked for, as it was recorded.',
  },
  'tool-call-updated': {
    body: '`round`, `internalStatus`, `call`, `nodeId?`',
    says: 'The call has moved to another status. `call.args` is what it runs with; where a person changed that, `call.proposedArgs` is what the model had proposed.',
  },
  'tool-progress': {
    body: '`callId`, `seqInCall`, `progress?`, `total?`, `message?`, `subJobId?`',
    says: 'How far a call is; at most two a second for each call. Display only.',
  },
  'interrupt-opened': {
    body: '`interruptId`, `kind`, `callId?`, `nodeId?`, `title`, `expiresAt`, `request`',
    says: 'The job needs an answer from outside; `request` depends on the kind.',
  },
  'interrupt-reminder': {
    body: '`interruptId`, `kind`, `title`, `expiresAt`',
    says: 'The request is still open. Once a day.',
  },
  'interrupt-resolved': {
    body: '`interruptId`, `outcome`, `decidedBy?`, `decidedAt`',
    says: 'The request is settled, by an answer, by its expiry or because the job was stopped.',
  },
  'job-waiting': { body: '`interruptIds`', says: 'The job holds no worker until a request is answered.' },
  'job-requeued': { body: '`reason`', says: 'The job may be claimed again.' },
  'node-started': {
    body: '`nodeRunId`, `nodeId`, `label`, `type`, `path`, `iteration?`',
    says: 'A node of the workflow is run. `path`: the nodes it runs inside of; `iteration`: the pass of the innermost loop or map, from 1.',
  },
  'node-finished': {
    body: '`nodeRunId`, `nodeId`, `label`, `type`, `path`, `iteration?`, `status`, `output`, `error?`, `tokenCount?`, `route?`',
    says: 'The run of the node is over; `output` at the size of a screen.',
  },
  'branch-started': {
    body: '`nodeRunId`, `nodeId`, `branchId`, `label`',
    says: 'A branch of a parallel node is run. Told once, whatever becomes of workers.',
  },
  'branch-finished': {
    body: '`nodeRunId`, `nodeId`, `branchId`, `label`, `status`, `output`, `error?`',
    says: 'The branch is over. Told once as well, after its beginning.',
  },
  'route-selected': {
    body: '`nodeId`, `routeId`, `name`, `reasoning`, `fallbackUsed`',
    says: 'A router has chosen where the workflow goes on.',
  },
  'loop-iteration': {
    body: '`nodeId`, `iteration`, `maxIterations`',
    says: 'A loop begins a pass through its body, from 1.',
  },
  warning: { body: '`code`, `text`, `nodeId?`', says: 'Something a person should know; the job goes on.' },
  'job-cancel-requested': { body: '`by`, `reason`', says: 'The worker of the job was told to stop.' },
  'job-finished': {
    body: '`status`, `reason`, `error?`, `content_length`, `usage`, `durationMs`, `toolCalls`, `rounds`',
    says: 'The end. Always the last number, exactly once.',
  },
};
