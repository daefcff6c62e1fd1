import { AppError } from '#platform';

/** A name or value that cannot be kept. */
export function secretInvalid(field: 'name' | 'value', problem: string): AppError {
  return new AppError({ code: 'bad_request', message: `${field}: ${problem}`, field });
}

/** Absent and forbidden look the same. */
export function secretNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Secret not found or unauthorized' });
}

/** The cap is there so that lists need no pages. */
export function tooManySecrets(limit: number): AppError {
  return new AppError({ code: 'conflict', message: `A workspace can have ${limit} secrets: remove one first` });
}

/** A tool names a secret that the workspace does not have; the model reads this. */
export function secretMissing(name: string): AppError {
  return new AppError({ code: 'secret_missing', message: `the secret "${name}" is not set in this workspace` });
}
