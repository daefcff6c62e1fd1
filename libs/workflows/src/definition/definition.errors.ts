import { AppError } from '#platform';

/** A definition that was never validated was about to be run. `problem` is a clause. */
export function notRunnable(problem: string): AppError {
  return new AppError({ code: 'workflow_not_runnable', message: `This workflow cannot be run: ${problem}` });
}
