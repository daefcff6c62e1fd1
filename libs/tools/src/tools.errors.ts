import { AppError } from '#platform';

/** A tool cannot be registered; the process must not start with it. */
export function invalidTool(name: string, problem: string): AppError {
  return new AppError({ code: 'invalid_tool', message: `Tool "${name}" cannot be registered: ${problem}.` });
}

/** A schema that cannot be used to check arguments. `problem` says what is wrong with it. */
export function invalidSchema(problem: string): AppError {
  return new AppError({ code: 'invalid_schema', message: `The JSON Schema cannot be used: ${problem}.` });
}

/** An approval policy that cannot be used; `field` is the path of what is wrong. */
export function invalidPolicy(field: string, problem: string): AppError {
  const message = field === '' ? `The approval policy is wrong: ${problem}` : `${field}: ${problem}`;
  return new AppError({ code: 'bad_request', message, field });
}

/** Arguments that do not fit a tool. Thrown by handlers too, then the call fails in phase `validation`. */
export class ToolArgumentsError extends AppError {
  constructor(message: string) {
    super({ code: 'invalid_arguments', message });
    this.name = 'ToolArgumentsError';
  }
}
