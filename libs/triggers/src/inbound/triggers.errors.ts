import { AppError } from '#platform';

/** Unknown, deleted, or of another workspace. */
export const triggerNotFound = () => new AppError({ code: 'not_found', message: 'Trigger not found' });

export const badTrigger = (reason: string) =>
  new AppError({ code: 'bad_request', message: reason, field: 'definition' });

export const tooManyTriggers = (limit: number) =>
  new AppError({ code: 'conflict', message: `A workspace can have ${limit} triggers: delete one first` });

export const triggerOfFile = () =>
  new AppError({
    code: 'conflict',
    message: 'The trigger comes from a file of the server: change the file and reload it',
  });

export const ownDatabase = () =>
  new AppError({
    code: 'conflict',
    message: 'The changes of this database are the rows of the workspace, which the server reads by itself',
    field: 'database',
  });
