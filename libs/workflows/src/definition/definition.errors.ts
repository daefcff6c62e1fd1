import { AppError } from '#platform';

/** A definition that was never validated was about to be run. `problem` is a clause. */
export function notRunnable(problem: string): AppError {
  return new AppError({ code: 'workflow_not_runnable', message: `This workflow cannot be run: ${problem}` });
}

/** What a template would become is more than anything could read. Its message reads as a `VALIDATION` failure: no retry helps. */
export function filledTooLong(max: number): AppError {
  const message = `The template is invalid: with its values inserted, it is longer than ${max} characters`;
  return new AppError({ code: 'too_large', message });
}
