import { AppError } from '#platform';

/** A name in the request's tools that is no tool here. */
export const unknownTool = (name: string) =>
  new AppError({ code: 'bad_request', message: `There is no tool named "${name.slice(0, 64)}"`, field: 'tools' });

export const toolsSwitchedOff = () =>
  new AppError({
    code: 'bad_request',
    message: 'Tools in background jobs are switched off on this server',
    field: 'tools',
  });

export const nothingSaid = () => new AppError({ code: 'bad_request', message: 'Missing messages', field: 'messages' });

export const tooManyMessages = (limit: number) =>
  new AppError({ code: 'too_large', message: `messages exceeds ${limit} entries`, field: 'messages' });

/** A job of one call stands for what was asked once: whoever wants it again asks again. */
export const callNotRetried = () =>
  new AppError({ code: 'conflict', message: 'A single tool call is not retried: make a new one', field: 'jobId' });

/** Calls of such a job go to whoever sent its request, in the reply to it; nobody sent another one. */
export const handedOverNotRetried = () =>
  new AppError({
    code: 'conflict',
    message: 'A job that hands calls over to its requester is not retried: send the request again',
    field: 'jobId',
  });

/** The server has run this call in the place of a client before. */
export const alreadyExecuted = () =>
  new AppError({ code: 'already_executed', message: 'Tool call was already executed' });
