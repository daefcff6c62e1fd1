import { AppError } from '../../errors/app-error.js';

/** A required field is missing. `field` is the name that the client uses. */
export const missing = (field: string) => new AppError({ code: 'bad_request', message: `Missing ${field}`, field });

/** The body is not an object, or has values that cannot be stored. */
export const invalidBody = (problem = 'it must be a JSON object') =>
  new AppError({ code: 'bad_request', message: `Invalid request body: ${problem}` });

/** A known field has an invalid value. `problem` ends the sentence: `must be a text`. */
export const invalidField = (field: string, problem: string, path = field) =>
  new AppError({ code: 'bad_request', message: `Invalid request body: ${path} ${problem}`, field });

/** A query parameter has an invalid value. */
export const invalidParameter = (field: string) =>
  new AppError({ code: 'bad_request', message: `Invalid ${field}`, field });

export const tooLarge = (limitBytes: number) =>
  new AppError({ code: 'too_large', message: `Request body exceeds ${limitBytes} bytes` });

/** The body is compressed, or has a charset other than UTF-8. */
export const unsupportedEncoding = () =>
  new AppError({ code: 'unsupported_media_type', message: 'Unsupported encoding of the request body' });

/** The body did not arrive in time. */
export const bodyTimedOut = () =>
  new AppError({ code: 'body_timeout', message: 'The request body took too long to arrive. Send it again' });

/** The client closed the connection before the body was complete, so it does not receive this error. */
export const bodyAborted = () => new AppError({ code: 'bad_request', message: 'The request was aborted' });

export const crossOriginRefused = () => new AppError({ code: 'forbidden', message: 'Cross-origin request refused' });

/** The caller lost the right to read during the response. */
export const accessLost = () =>
  new AppError({
    code: 'forbidden',
    message: 'Your access to this list ended during the request. Send it again with a valid credential.',
  });

/** This process is shutting down: the client should retry with another one, or later. */
export const shuttingDown = () =>
  new AppError({
    code: 'unavailable',
    message: 'The server is shutting down. Try again',
    retryable: true,
    retryAfterSeconds: 2,
  });
