import { ID, Int } from '@nestjs/graphql';

import { defineEnum, payloadOf, type UserError } from '#platform/api';

import type { StopState } from '../cancel/job-stopper.js';
import type { StartedJob } from '../start/start-request.js';
import { JobStatusEnum } from './job.enums.js';
import { JobModel } from './job.model.js';

/** GraphQL names of the results of a cancellation. */
export const StopStateEnum = defineEnum('StopState', 'The result of a cancellation.', {
  ABORTED: ['aborted', 'The job is cancelled.'],
  ALREADY_TERMINAL: ['already_terminal', 'The job had already completed or failed.'],
  CANCEL_REQUESTED: [
    'cancel_requested',
    'The worker was notified and has not ended the job yet. The job will end as CANCELLED.',
  ],
}) satisfies Record<string, Exclude<StopState, 'not_found'>>;

/** The result of a start. The ids are known at once; `job` reads the whole job. */
export const StartJobPayload = payloadOf({
  name: 'StartJobPayload',
  description: 'The started job, or the reasons why none was started.',
  fields: {
    jobId: [ID, 'The job.'],
    status: [
      JobStatusEnum,
      'QUEUED for a new job, even if a worker has already claimed it; if `replayed`, the current status.',
    ],
    threadId: [ID, 'The thread: server id, or the id of the client.'],
    messageId: [ID, "The assistant message of the job: server id, or the client's own id."],
    replayed: [
      Boolean,
      'Whether an earlier request with this idempotency key started the job. Then nothing new was stored.',
    ],
  },
  errors: 'The reasons why nothing was started. Empty if a job was started.',
});

/** The result of a start without the field `job`, which a resolver reads. */
export type StartPayload = Partial<StartedJob> & { readonly userErrors: readonly UserError[] };

export const CancelJobPayload = payloadOf({
  name: 'CancelJobPayload',
  description: 'The result of the cancellation.',
  fields: {
    state: [StopStateEnum, 'The result.'],
    stoppedSubJobs: [Int, 'How many descendant jobs were cancelled.'],
    job: [JobModel, 'The current state of the job.'],
  },
  errors: 'The reasons why nothing was cancelled.',
});
