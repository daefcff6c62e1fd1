import { AppError } from '#platform';

/** The client has a newer version than the one that would run. */
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

/** Thrown also for a node inside a loop, because a run begins on the top level. */
export const startNodeUnknown = () =>
  new AppError({
    code: 'bad_request',
    message: 'resumeFrom startNodeId is not in this workflow',
    field: 'resumeFrom',
  });

/** The node to run again is unknown, inside a loop, map or subflow, or was never reached. */
export const cannotRerun = (problem: string) =>
  new AppError({ code: 'bad_request', message: problem, field: 'nodeId' });

/** The texts of the earlier nodes exceed the limit of one run. */
export const tooMuchToTakeOver = (limit: number) =>
  new AppError({
    code: 'too_large',
    message: `The outputs to copy from the ended job exceed ${limit} characters. Start the workflow from the beginning instead.`,
    field: 'nodeId',
  });

/** The error that a model reads if its call would run a workflow inside itself. */
export const workflowWithinItself = () =>
  new AppError({
    code: 'workflow_recursion',
    message: 'A parent job of this call already runs this workflow. A workflow cannot run within itself.',
  });

/** A workflow call starts a job, and only a call of a job can wait for it. */
export const callOutsideJob = () =>
  new AppError({
    code: 'bad_request',
    message: 'Only a tool call of a job can call a workflow. Start the workflow as a job (`startWorkflow`).',
  });

export const callerGone = () =>
  new AppError({
    code: 'forbidden',
    message: 'The requester is no longer a member of this workspace. Ask an owner to add them.',
  });

export const notAWorkflowJob = () =>
  new AppError({ code: 'bad_request', message: 'This job runs no workflow', field: 'jobId' });

export const stillRunning = () =>
  new AppError({ code: 'conflict', message: 'The job has not ended yet: cancel it first', field: 'jobId' });
