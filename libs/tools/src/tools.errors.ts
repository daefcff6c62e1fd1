import { AppError } from '#platform';

/** A tool cannot be registered, so the process must not start. */
export function invalidTool(name: string, problem: string): AppError {
  return new AppError({ code: 'invalid_tool', message: `Tool "${name}" cannot be registered: ${problem}.` });
}

/** A schema that cannot be used to check arguments. `problem` describes the fault. */
export function invalidSchema(problem: string): AppError {
  return new AppError({ code: 'invalid_schema', message: `The JSON Schema cannot be used: ${problem}.` });
}

/** Arguments that a tool does not accept. A handler may throw it too; then the call fails in phase `validation`. */
export class ToolArgumentsError extends AppError {
  constructor(message: string) {
    super({ code: 'invalid_arguments', message });
    this.name = 'ToolArgumentsError';
  }
}

/**
 * Thrown by a handler that has sent a request and cannot learn its outcome. A `once` call is then `interrupted`, and the tool's `onUnknown`
 * decides; for other effects it is an ordinary error, and the call may be retried.
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
