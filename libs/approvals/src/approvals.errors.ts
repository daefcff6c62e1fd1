import { AppError } from '#platform';

/** An approval policy that cannot be used; `field` is the path of the fault. */
export function invalidPolicy(field: string, problem: string): AppError {
  const message = field === '' ? `The approval policy is invalid: ${problem}` : `${field}: ${problem}`;
  return new AppError({ code: 'bad_request', message, field });
}

/** Another user saved the policy since the caller read it. */
export function policyChanged(version: number): AppError {
  const message = `The approval policy is now at version ${version}. Read it again and repeat your change`;
  return new AppError({ code: 'conflict', message, field: 'expectedVersion' });
}

/** Hides from a caller without access whether the grant exists. */
export function grantNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Grant not found or unauthorized' });
}

/** For an API key that can read the grant and has no right to decide. */
export function grantForbidden(): AppError {
  return new AppError({ code: 'forbidden', message: 'Forbidden' });
}

/** An operation on approvals has an invalid input; `field` names it. */
export function invalidApprovalInput(field: string, problem: string): AppError {
  return new AppError({ code: 'bad_request', message: `${field}: ${problem}`, field });
}

/** A workspace runs one replay at a time. */
export function replayUnderWay(): AppError {
  return new AppError({
    code: 'rate_limited',
    message: 'Another dry run of this workspace is running. Try again when it has ended',
    retryable: true,
    retryAfterSeconds: 5,
  });
}
