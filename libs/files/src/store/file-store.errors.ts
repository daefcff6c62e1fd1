import { AppError, defined } from '#platform';

/** The same error for a file that is absent, forbidden or in another workspace. */
export const fileNotFound = (field?: string) =>
  new AppError({
    code: 'not_found',
    message: 'File not found or unauthorized. Upload it to this workspace first',
    ...defined({ field }),
  });

/** The store of the content did not respond, or this process has no access to it. */
export const storeUnavailable = (cause?: unknown) =>
  new AppError({
    code: 'unavailable',
    message: 'The file storage does not respond. Try again',
    retryable: true,
    retryAfterSeconds: 5,
    cause,
  });
