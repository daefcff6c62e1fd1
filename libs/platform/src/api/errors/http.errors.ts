import { AppError } from '../../errors/app-error.js';

/** A field that must be there is not. `field` as the client names it. */
export const missing = (field: string) => new AppError({ code: 'bad_request', message: `Missing ${field}`, field });

/** The body as a whole is not an object, or has values that cannot be stored. */
export const invalidBody = (problem = 'it must be a JSON object') =>
  new AppError({ code: 'bad_request', message: `Invalid request body: ${problem}` });

/** A known field has a wrong value. `problem` ends the sentence: `must be a text`. */
export const invalidField = (field: string, problem: string, path = field) =>
  new AppError({ code: 'bad_request', message: `Invalid request body: ${path} ${problem}`, field });

/** A parameter of the query has a value that means nothing. */
export const invalidParameter = (field: string) =>
  new AppError({ code: 'bad_request', message: `Invalid ${field}`, field });

export const tooLarge = (limitBytes: number) =>
  new AppError({ code: 'too_large', message: `Request body exceeds ${limitBytes} bytes` });

/** A compressed body, or one in another charset than UTF-8. */
export const unsupportedEncoding = () =>
  new AppError({ code: 'unsupported_media_type', message: 'Unsupported encoding of the request body' });

/** The body did not arrive in time. */
export const bodyTimedOut = () =>
  new AppError({ code: 'body_timeout', message: 'The request body took too long to arrive. Send it again' });

/** The client closed the connection before the body was complete, so it does not receive this error. */
export const bodyAborted = () => new AppError({ code: 'bad_request', message: 'The request was aborted' });

export const crossOriginRefused = () => new AppError({ code: 'forbidden', message: 'Cross-origin request refused' });

/** Rights that an answer began with have ended before it did. */
export const accessLost = () =>
  new AppError({ code: 'forbidden', message: 'The right to read this has ended, start again' });

/** This process is shutting down: try another one, or again in a moment. */
export const shuttingDown = () =>
  new AppError({
    code: 'unavailable',
    message: 'The server is shutting down, try again',
    retryable: true,
    retryAfterSeconds: 2,
  });
