import { defineEnum } from '#platform/api';

import type { NodeRunStatus } from '../events/job-event.js';
import type { JobKind } from '../job.js';
import type { JobStatus } from '../job.lifecycle.js';

/** GraphQL names of job statuses. */
export const JobStatusEnum = defineEnum(
  'JobStatus',
  'The status of a job. COMPLETED, FAILED and CANCELLED are final. The list may grow.',
  {
    QUEUED: ['queued', 'Accepted and not yet claimed by a worker.'],
    RUNNING: ['running', 'A worker runs it.'],
    WAITING: ['waiting', 'It waits for a decision, a result, a time or an event, and occupies no worker.'],
    COMPLETED: ['completed', 'It ended successfully.'],
    FAILED: ['failed', 'It ended with an error.'],
    CANCELLED: ['cancelled', 'It was cancelled.'],
  },
) satisfies Record<Uppercase<JobStatus>, JobStatus>;

/** GraphQL names of job kinds. */
export const JobKindEnum = defineEnum('JobKind', 'What a job does. The list may grow.', {
  CHAT: ['chat', 'A model conversation in a thread, with tools.'],
  WORKFLOW: ['workflow', 'Runs an agent workflow.'],
}) satisfies Record<Uppercase<JobKind>, JobKind>;

/** GraphQL names of tool call statuses. The events of a job contain only some of them. */
export const ToolCallStatusEnum = defineEnum('ToolCallStatus', 'The status of a tool call. The list may grow.', {
  PENDING: ['pending', 'Requested and not started.'],
  AWAITING_APPROVAL: ['awaiting_approval', 'It waits for an approval.'],
  AWAITING_CLIENT: ['awaiting_client', 'It waits for a client to run it.'],
  RUNNING: ['running', 'It runs.'],
  COMPLETED: ['completed', 'It has a result.'],
  ERROR: ['error', 'It failed. The model reads the reason.'],
  TIMED_OUT: ['timed_out', 'It took longer than its timeout, or no client or tool process ran it in time.'],
  SKIPPED: ['skipped', 'It was not run. The model reads the reason.'],
  DENIED: [
    'denied',
    'It was not allowed: by a person, the approval policy or a hook, because its approval request expired, or because the tool changed. The model reads why.',
  ],
  CANCELLED: [
    'cancelled',
    'It was cancelled. A call of effect ONCE has not had its effect; a PURE or IDEMPOTENT call may have run.',
  ],
  INTERRUPTED: ['interrupted', 'Its outcome is unknown. It is not repeated without a decision.'],
});

/** GraphQL names of the statuses of node runs. */
export const NodeRunStatusEnum = defineEnum('NodeRunStatus', 'The status of a node run. The list may grow.', {
  PENDING: ['pending', 'Not started.'],
  ACTIVE: ['active', 'It runs.'],
  WAITING: ['waiting', 'It waits for a decision, a result, a time or an event.'],
  COMPLETED: ['completed', 'It has an output.'],
  ERROR: ['error', 'It failed.'],
  SKIPPED: ['skipped', 'No edge to it was taken, or the job ended first.'],
  CANCELLED: ['cancelled', 'It was cancelled.'],
}) satisfies Record<Uppercase<NodeRunStatus>, NodeRunStatus>;

/** GraphQL names of what a job does while its model provider is down. */
export const ProviderDownActionEnum = defineEnum(
  'ProviderDownAction',
  'What a job does while its model provider is down.',
  {
    WAIT: ['wait', 'It is WAITING and asks the provider again from time to time, for 24 hours by default.'],
    FAIL: ['fail', 'After short retries it fails with the last error of the provider.'],
  },
);
