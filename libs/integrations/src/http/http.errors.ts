import { AppError } from '#platform';

/** An invalid definition; `field` is the path of the fault. */
export function toolInvalid(field: string, problem: string): AppError {
  return new AppError({ code: 'bad_request', message: `${field}: ${problem}`, field });
}

/** Hides from a caller without access whether the tool exists. */
export function toolNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Tool not found or unauthorized' });
}

/** Tool names are unique in a workspace. */
export function toolNameTaken(name: string): AppError {
  return new AppError({
    code: 'conflict',
    message: `A tool named "${name}" already exists. Choose another name.`,
    field: 'definition.name',
  });
}

/** The limit bounds the time to read all tools of a workspace. */
export function tooManyTools(limit: number): AppError {
  return new AppError({ code: 'conflict', message: `A workspace can have at most ${limit} tools. Remove one first.` });
}

/** An entry of the list of hosts is invalid. */
export function hostsInvalid(problem: string): AppError {
  return new AppError({ code: 'bad_request', message: `hosts: ${problem}`, field: 'hosts' });
}

/** The remote server refused or failed, or its response has the wrong format. The model reads the message. */
export function answerRefused(message: string): AppError {
  return new AppError({ code: 'tool_answer_refused', message });
}
