import { AppError } from '#platform';

/** A definition that cannot be a tool; `field` is the path of what is wrong in it. */
export function toolInvalid(field: string, problem: string): AppError {
  return new AppError({ code: 'bad_request', message: `${field}: ${problem}`, field });
}

/** Absent and forbidden look the same. */
export function toolNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Tool not found or unauthorized' });
}

/** A name means one tool. */
export function toolNameTaken(name: string): AppError {
  return new AppError({
    code: 'conflict',
    message: `A tool called "${name}" exists already`,
    field: 'definition.name',
  });
}

/** The cap is there so that the tools of a workspace can be read at once. */
export function tooManyTools(limit: number): AppError {
  return new AppError({ code: 'conflict', message: `A workspace can have ${limit} tools: remove one first` });
}

/** An entry of the list of hosts is neither a host nor `*.` and a domain. */
export function hostsInvalid(problem: string): AppError {
  return new AppError({ code: 'bad_request', message: `hosts: ${problem}`, field: 'hosts' });
}

/** The far side refused or failed, or its answer is not what was agreed; the model reads this. */
export function answerRefused(message: string): AppError {
  return new AppError({ code: 'tool_answer_refused', message });
}
