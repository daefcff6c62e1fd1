import { registerEnumType } from '@nestjs/graphql';

import type { JobKind, JobStatus, NodeRunStatus, WhenBusy } from '#jobs';
import type { ToolCallStatus } from '#tools';

/** GraphQL's names of job statuses. */
export const JobStatusEnum = {
  QUEUED: 'queued',
  RUNNING: 'running',
  WAITING: 'waiting',
  COMPLETED: 'completed',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
} as const satisfies Record<Uppercase<JobStatus>, JobStatus>;

registerEnumType(JobStatusEnum, {
  name: 'JobStatus',
  description: 'Where a job stands. COMPLETED, FAILED and CANCELLED are final. The list may grow.',
  valuesMap: {
    QUEUED: { description: 'Accepted; no worker has it yet.' },
    RUNNING: { description: 'A worker is on it.' },
    WAITING: { description: 'It waits for something from outside and holds no worker.' },
    COMPLETED: { description: 'It ended as it was meant to.' },
    FAILED: { description: 'It ended with an error.' },
    CANCELLED: { description: 'Somebody stopped it.' },
  },
});

/** GraphQL's names of job kinds. */
export const JobKindEnum = { CHAT: 'chat', WORKFLOW: 'workflow' } as const satisfies Record<
  Uppercase<JobKind>,
  JobKind
>;

registerEnumType(JobKindEnum, {
  name: 'JobKind',
  description: 'What a job does. The list may grow.',
  valuesMap: {
    CHAT: { description: 'Answers in a thread, with tools.' },
    WORKFLOW: { description: 'Runs an agent workflow.' },
  },
});

/** GraphQL's names of what a busy thread does with a start. */
export const WhenBusyEnum = {
  REJECT: 'reject',
  ENQUEUE: 'enqueue',
  INTERRUPT: 'interrupt',
} as const satisfies Record<Uppercase<WhenBusy>, WhenBusy>;

registerEnumType(WhenBusyEnum, {
  name: 'WhenBusy',
  description: 'What a start does when a job is active in its thread.',
  valuesMap: {
    REJECT: { description: 'It is refused (`thread_busy`).' },
    ENQUEUE: { description: 'It waits in line behind the active job.' },
    INTERRUPT: { description: 'The active job and the line are cancelled first.' },
  },
});

/** GraphQL's names of tool call statuses. */
export const ToolCallStatusEnum = {
  PENDING: 'pending',
  AWAITING_APPROVAL: 'awaiting_approval',
  AWAITING_CLIENT: 'awaiting_client',
  RUNNING: 'running',
  COMPLETED: 'completed',
  ERROR: 'error',
  TIMED_OUT: 'timed_out',
  SKIPPED: 'skipped',
  DENIED: 'denied',
  CANCELLED: 'cancelled',
  INTERRUPTED: 'interrupted',
} as const satisfies Record<Uppercase<ToolCallStatus>, ToolCallStatus>;

registerEnumType(ToolCallStatusEnum, {
  name: 'ToolCallStatus',
  description: 'Where a tool call stands. The list may grow.',
  valuesMap: {
    PENDING: { description: 'Asked for, not started.' },
    AWAITING_APPROVAL: { description: 'A person has to allow it.' },
    AWAITING_CLIENT: { description: 'A client has to run it.' },
    RUNNING: { description: 'It runs.' },
    COMPLETED: { description: 'It has a result.' },
    ERROR: { description: 'It failed; the model was told why.' },
    TIMED_OUT: { description: 'It took longer than its limit and was aborted.' },
    SKIPPED: { description: 'It was not run, for a reason the model was told.' },
    DENIED: { description: 'A person refused it.' },
    CANCELLED: { description: 'Its job was stopped first.' },
    INTERRUPTED: { description: 'Nobody knows whether it ran; it is not repeated without a decision.' },
  },
});

/** GraphQL's names of the statuses of node runs. */
export const NodeRunStatusEnum = {
  PENDING: 'pending',
  ACTIVE: 'active',
  WAITING: 'waiting',
  COMPLETED: 'completed',
  ERROR: 'error',
  SKIPPED: 'skipped',
  CANCELLED: 'cancelled',
} as const satisfies Record<Uppercase<NodeRunStatus>, NodeRunStatus>;

registerEnumType(NodeRunStatusEnum, {
  name: 'NodeRunStatus',
  description: 'Where the run of a workflow node stands. The list may grow.',
  valuesMap: {
    PENDING: { description: 'Not begun.' },
    ACTIVE: { description: 'It runs.' },
    WAITING: { description: 'It waits for something from outside.' },
    COMPLETED: { description: 'It has an output.' },
    ERROR: { description: 'It failed.' },
    SKIPPED: { description: 'No edge to it was taken, or the run was over first.' },
    CANCELLED: { description: 'It was stopped.' },
  },
});
