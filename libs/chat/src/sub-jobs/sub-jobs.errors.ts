import { AppError } from '#platform';

/** The same text for an unknown model and for one that the workspace does not allow. */
export const modelUnavailable = (name: string) =>
  new AppError({ code: 'bad_request', message: `Model "${name.slice(0, 200)}" is not available.`, field: 'model' });

/** Every job that the caller may not read. */
export const startedJobUnavailable = (id: string) =>
  new AppError({ code: 'not_found', message: `Job "${id.slice(0, 64)}" is not available.` });

/** Sub-jobs write to threads, and a thread belongs to a user. */
export const nothingStarts = () =>
  new AppError({
    code: 'forbidden',
    message: 'This job cannot start jobs: its requester is not a user who may start jobs.',
  });
