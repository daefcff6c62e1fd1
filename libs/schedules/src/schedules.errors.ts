import { AppError } from '#platform';

/** The schedule does not exist, was removed, or belongs to another workspace. */
export const scheduleNotFound = () => new AppError({ code: 'not_found', message: 'Schedule not found' });

/** A name belongs to one schedule, and a schedule to one workflow or to chats. */
export const scheduleNameTaken = (name: string) =>
  new AppError({
    code: 'conflict',
    message: `A schedule with the name "${name}" already exists, for another workflow, for chats or with another id. Choose another name, or remove that schedule first.`,
    field: 'name',
  });

export const badScheduleName = () =>
  new AppError({ code: 'bad_request', message: 'name must have 1 to 100 characters', field: 'name' });

export const badCron = (problem: string) =>
  new AppError({ code: 'bad_request', message: `cron: ${problem}`, field: 'cron' });

export const unknownTimeZone = () =>
  new AppError({
    code: 'bad_request',
    message: 'timeZone must be a name of the time zone database, such as Europe/Berlin',
    field: 'timeZone',
  });

export const emptyPrompt = () => new AppError({ code: 'bad_request', message: 'Missing prompt', field: 'prompt' });

export const chatTooLong = (limit: number) =>
  new AppError({
    code: 'too_large',
    message: `The messages exceed ${limit} characters as JSON. Shorten or remove some.`,
    field: 'messages',
  });

export const tooManySchedules = (limit: number) =>
  new AppError({ code: 'conflict', message: `A workspace can have at most ${limit} schedules. Remove one first.` });
