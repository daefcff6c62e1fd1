import { registerEnumType } from '@nestjs/graphql';

import type { NodeRunStatus } from '../events/job-event.js';
import type { JobKind } from '../job.js';
import type { JobStatus } from '../job.lifecycle.js';

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
  description: 'The status of a job. COMPLETED, FAILED and CANCELLED are final. The list may grow.',
  valuesMap: {
    QUEUED: { description: 'Accepted and not yet claimed by a worker.' },
    RUNNING: { description: 'A worker runs it.' },
    WAITING: { description: 'It waits for something outside and occupies no worker.' },
    COMPLETED: { description: 'It ended successfully.' },
    FAILED: { description: 'It ended with an error.' },
    CANCELLED: { description: 'It was cancelled.' },
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
    CHAT: { description: 'A model conversation in a thread, with tools.' },
    WORKFLOW: { description: 'Runs an agent workflow.' },
  },
});

/** GraphQL's names of tool call statuses, of which the events of a job contain some. */
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
} as const;

registerEnumType(ToolCallStatusEnum, {
  name: 'ToolCallStatus',
  description: 'The status of a tool call. The list may grow.',
  valuesMap: {
    PENDING: { description: 'Requested and not started.' },
    AWAITING_APPROVAL: { description: 'It waits for an approval.' },
    AWAITING_CLIENT: { description: 'It waits for a client to run it.' },
    RUNNING: { description: 'It runs.' },
    COMPLETED: { description: 'It has a result.' },
    ERROR: { description: 'It failed. The model reads the reason.' },
    TIMED_OUT: { description: 'It took longer than its limit and was aborted.' },
    SKIPPED: { description: 'It was not run. The model reads the reason.' },
    DENIED: { description: 'A person refused it.' },
    CANCELLED: { description: 'The job was cancelled before a decision.' },
    INTERRUPTED: { description: 'Its outcome is unknown. It is not repeated without a decision.' },
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
  description: 'The status of a node run. The list may grow.',
  valuesMap: {
    PENDING: { description: 'Not started.' },
    ACTIVE: { description: 'It runs.' },
    WAITING: { description: 'It waits for something outside.' },
    COMPLETED: { description: 'It has an output.' },
    ERROR: { description: 'It failed.' },
    SKIPPED: { description: 'No edge to it was taken, or the job ended first.' },
    CANCELLED: { description: 'It was cancelled.' },
  },
});

/** GraphQL's names of what a job does while its model provider is down. */
export const ProviderDownActionEnum = { WAIT: 'wait', FAIL: 'fail' } as const;

registerEnumType(ProviderDownActionEnum, {
  name: 'ProviderDownAction',
  description: 'What a job does while its model provider is down.',
  valuesMap: {
    WAIT: { description: 'It is WAITING and asks the provider again from time to time, for 24 hours by default.' },
    FAIL: { description: 'After short retries it fails with the last error of the provider.' },
  },
});
