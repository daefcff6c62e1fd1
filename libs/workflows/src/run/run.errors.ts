import { AppError } from '#platform';

/** A job whose definition cannot be read any more. */
export const definitionGone = () =>
  new AppError({ code: 'workflow_gone', message: 'The definition of this workflow cannot be read any more' });
