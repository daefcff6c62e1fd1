import { AppError } from '#platform';

/** The trigger is unknown, deleted, or of another workspace. */
export const triggerNotFound = () => new AppError({ code: 'not_found', message: 'Trigger not found' });

export const badTrigger = (reason: string) =>
  new AppError({ code: 'bad_request', message: reason, field: 'definition' });

/** Tokens give access to workspace documents only. */
export const tokenOfOtherDatabase =
  'issueToken works only for the messages, tool calls and jobs of the workspace: set database to the id or name of the workspace, and collection to one of these collections';

export const tooManyTriggers = (limit: number) =>
  new AppError({ code: 'conflict', message: `A workspace can have at most ${limit} triggers. Delete one first.` });

export const triggerOfFile = () =>
  new AppError({
    code: 'conflict',
    message: 'This trigger comes from a file of the server. Ask the operator to change the file and to reload it.',
  });

/** The run is unknown, deleted, or of another workspace. */
export const runNotFound = () => new AppError({ code: 'not_found', message: 'Run not found' });

/** The job of the run is being started, or the run has ended. */
export const runNotWaiting = () =>
  new AppError({
    code: 'conflict',
    message: 'The run no longer waits for its start time. If it has started a job, cancel the job.',
  });

export const ownDatabase = () =>
  new AppError({
    code: 'conflict',
    message:
      'The id and the name of the workspace are reserved as database names. Publish the changes to another database.',
    field: 'database',
  });
