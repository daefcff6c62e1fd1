import { AppError } from '#platform';

/** The caller may read the request but not decide it. The request stays open. The message is part of the wire contract. */
export const cannotDecide = () => new AppError({ code: 'cannot_decide', message: 'You cannot decide this request' });

export const argumentsChanged = () =>
  new AppError({
    code: 'arguments_changed',
    message: 'Arguments changed since they were shown',
    field: 'argumentsHash',
  });

export const notApprovable = () =>
  new AppError({
    code: 'not_approvable',
    message: 'This call cannot be approved because its arguments cannot be shown',
  });

/** `issues`: one sentence per fault. */
export const invalidEdit = (issues: readonly string[]) =>
  new AppError({
    code: 'invalid_arguments',
    message: 'Edited arguments are invalid',
    field: 'arguments',
    details: { issues },
  });

/** The data does not match the schema of the form; the request stays open. `issues`: one sentence per fault. */
export const invalidInput = (issues: readonly string[]) =>
  new AppError({
    code: 'invalid_input',
    message: 'The data does not match the form. See issues.',
    field: 'data',
    details: { issues },
  });

export const missingAnswer = (field: string) =>
  new AppError({ code: 'bad_request', message: `Missing ${field}`, field });

/** An approval must name the arguments that it applies to. */
export const missingArgumentsHash = (requestId: string) =>
  new AppError({
    code: 'bad_request',
    message: `Missing argumentsHash: send request.argumentsHash of request ${requestId}. An approval is valid only for the arguments shown`,
    field: 'argumentsHash',
  });

export const invalidAnswer = (field: string, message: string) => new AppError({ code: 'bad_request', message, field });

/** The decision or action is not allowed for this request; `issues` lists the allowed ones. The message is part of the wire contract. */
export const invalidWord = (field: 'decision' | 'action', words: readonly string[]) =>
  new AppError({
    code: 'bad_request',
    message: `Invalid ${field}`,
    field,
    details: { issues: [`${field} must be one of ${words.join(', ')}`] },
  });

/** The field is not allowed in this decision; `takes`: the allowed fields. */
export const invalidField = (field: string, message: string, takes: readonly string[]) =>
  new AppError({
    code: 'bad_request',
    message,
    field,
    details: { issues: [`The allowed fields are ${takes.join(', ')}`] },
  });
