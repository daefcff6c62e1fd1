import { AppError } from '#platform';

/** The client has something newer than what would run. */
export const workflowStale = () =>
  new AppError({ code: 'workflow_stale', message: 'Workflow is stale on server. Sync and retry.' });

export const workflowVersionMismatch = () =>
  new AppError({ code: 'workflow_version_mismatch', message: 'Workflow version mismatch. Refresh and retry.' });

export const workflowPayloadMismatch = () =>
  new AppError({
    code: 'workflow_payload_mismatch',
    message: 'Workflow payload mismatch with canonical server definition',
  });

export const promptTooLong = (limit: number) =>
  new AppError({ code: 'too_large', message: `Prompt exceeds ${limit} chars`, field: 'prompt' });

export const tooManyEntries = (field: string, limit: number) =>
  new AppError({ code: 'too_large', message: `${field} exceeds ${limit} entries`, field });

export const entryTooLong = (field: string, limit: number) =>
  new AppError({ code: 'too_large', message: `An entry of ${field} exceeds ${limit} chars`, field });

/** Also a node inside of a loop: a run begins on the top. */
export const startNodeUnknown = () =>
  new AppError({
    code: 'bad_request',
    message: 'resumeFrom startNodeId is not in this workflow',
    field: 'resumeFrom',
  });

/** A node to run again: unknown, inside of a loop, a map or a subflow, or never reached. */
export const cannotRerun = (problem: string) =>
  new AppError({ code: 'bad_request', message: problem, field: 'nodeId' });

/** The texts of the earlier nodes exceed the limit of one run. */
export const tooMuchToTakeOver = (limit: number) =>
  new AppError({ code: 'too_large', message: `The texts to take over exceed ${limit} chars`, field: 'nodeId' });

/** What a model reads whose call would run a workflow within itself. */
export const workflowWithinItself = () =>
  new AppError({ code: 'workflow_recursion', message: 'This workflow is already running above this call' });

/** Its work is a job, and only a job's own call can wait for one. */
export const callOutsideJob = () =>
  new AppError({ code: 'bad_request', message: 'A workflow is called by a job; start it as a job instead' });

export const callerGone = () =>
  new AppError({
    code: 'forbidden',
    message: 'The requester is no longer a member of this workspace. Ask an owner to add them.',
  });

export const notAWorkflowJob = () =>
  new AppError({ code: 'bad_request', message: 'This job runs no workflow', field: 'jobId' });

export const stillRunning = () =>
  new AppError({ code: 'conflict', message: 'The job has not ended yet: cancel it first', field: 'jobId' });
