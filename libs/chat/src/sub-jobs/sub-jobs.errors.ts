import { AppError } from '#platform';

/** One text for a model that does not exist and for one that is not to be had. */
export const modelUnavailable = (name: string) =>
  new AppError({ code: 'bad_request', message: `Model "${name.slice(0, 200)}" is not available.`, field: 'model' });

/** Whatever is not among the jobs that the caller may ask about. */
export const startedJobUnavailable = (id: string) =>
  new AppError({ code: 'not_found', message: `Job "${id.slice(0, 64)}" is not available.` });

/** A thread belongs to a person, and so does what is said in it. */
export const nothingStarts = () =>
  new AppError({ code: 'forbidden', message: 'Only jobs that a person has started start jobs, as long as they may' });
