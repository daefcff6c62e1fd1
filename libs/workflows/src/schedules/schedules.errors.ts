import { AppError } from '#platform';

/** Unknown, removed, or of another workspace. */
export const scheduleNotFound = () => new AppError({ code: 'not_found', message: 'Schedule not found' });

export const badCron = (problem: string) =>
  new AppError({ code: 'bad_request', message: `cron: ${problem}`, field: 'cron' });

export const unknownTimeZone = () =>
  new AppError({
    code: 'bad_request',
    message: 'timeZone must be a name of the time zone database, such as Europe/Berlin',
    field: 'timeZone',
  });

export const emptyPrompt = () => new AppError({ code: 'bad_request', message: 'Missing prompt', field: 'prompt' });

export const tooManySchedules = (limit: number) =>
  new AppError({ code: 'conflict', message: `A workspace can have ${limit} schedules: remove one first` });
