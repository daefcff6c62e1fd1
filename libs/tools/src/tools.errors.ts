import { AppError } from '#platform';

/** A tool cannot be registered; the process must not start with it. */
export function invalidTool(name: string, problem: string): AppError {
  return new AppError({ code: 'invalid_tool', message: `Tool "${name}" cannot be registered: ${problem}.` });
}

/** A schema that cannot be used to check arguments. `problem` describes the fault. */
export function invalidSchema(problem: string): AppError {
  return new AppError({ code: 'invalid_schema', message: `The JSON Schema cannot be used: ${problem}.` });
}

/** An approval policy that cannot be used; `field` is the path of what is wrong. */
export function invalidPolicy(field: string, problem: string): AppError {
  const message = field === '' ? `The approval policy is wrong: ${problem}` : `${field}: ${problem}`;
  return new AppError({ code: 'bad_request', message, field });
}

/** Another user saved the policy in between. */
export function policyMoved(version: number): AppError {
  const message = `The approval policy is at version ${version} by now: read it again and repeat your change`;
  return new AppError({ code: 'conflict', message, field: 'expectedVersion' });
}

/** Absent and not to be seen look the same. */
export function grantNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Grant not found or unauthorized' });
}

/** For a key that may see the grant and may not decide anything. */
export function grantForbidden(): AppError {
  return new AppError({ code: 'forbidden', message: 'Forbidden' });
}

/** An input about approvals that is wrong in itself. */
export function invalidApprovalInput(field: string, problem: string): AppError {
  return new AppError({ code: 'bad_request', message: `${field}: ${problem}`, field });
}

/** One replay of a workspace at a time. */
export function replayUnderWay(): AppError {
  return new AppError({
    code: 'rate_limited',
    message: 'A dry run of this workspace is under way, try again when it is done',
    retryable: true,
    retryAfterSeconds: 5,
  });
}

/** Arguments that do not fit a tool. Thrown by handlers too, then the call fails in phase `validation`. */
export class ToolArgumentsError extends AppError {
  constructor(message: string) {
    super({ code: 'invalid_arguments', message });
    this.name = 'ToolArgumentsError';
  }
}

/**
 * Thrown by a handler that has sent something and will never hear what became of it. A `once` call is then `interrupted`, and its
 * tool's `onUnknown` decides; for the other effects it is an error like any other, and may be tried again.
 */
export class ToolOutcomeUnknown extends AppError {
  constructor(message: string) {
    super({ code: 'tool_outcome_unknown', message });
    this.name = 'ToolOutcomeUnknown';
  }
}

/** Thrown by a handler that was aborted before it had any effect: the call counts as not started, independent of its declared effect. */
export class ToolDidNothing extends Error {
  constructor() {
    super('the tool was stopped before it did anything');
    this.name = 'ToolDidNothing';
  }
}
