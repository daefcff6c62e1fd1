import { AppError } from '#platform';

/** The request names a tool that the server does not have. */
export const unknownTool = (name: string) =>
  new AppError({ code: 'bad_request', message: `The server has no tool named "${name.slice(0, 64)}"`, field: 'tools' });

export const toolsSwitchedOff = () =>
  new AppError({
    code: 'bad_request',
    message: 'Tools in background jobs are switched off on this server',
    field: 'tools',
  });

export const missingMessages = () =>
  new AppError({ code: 'bad_request', message: 'Missing messages', field: 'messages' });

export const tooManyMessages = (limit: number) =>
  new AppError({ code: 'too_large', message: `messages exceeds ${limit} entries`, field: 'messages' });

/** A job of a single call is not retried; the client can make the call again. */
export const callNotRetried = () =>
  new AppError({
    code: 'conflict',
    message: 'A job of a single tool call cannot be retried. Send the call again.',
    field: 'jobId',
  });

/** The response to the original request delivers the calls of such a job, so a retry would have no response to deliver them. */
export const handedOverNotRetried = () =>
  new AppError({
    code: 'conflict',
    message: 'A `/v1` job whose client runs its calls cannot be retried. Send the request again.',
    field: 'jobId',
  });

/** The server has already run this call instead of the client. */
export const alreadyExecuted = () =>
  new AppError({ code: 'already_executed', message: 'Tool call was already executed' });
