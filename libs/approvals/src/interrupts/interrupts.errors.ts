import { AppError } from '#platform';

/** The request may be seen, but others decide it. It stays open and untouched. */
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

/** What was filled in does not fit the form; the request stays open. `issues`: one sentence per fault. */
export const invalidInput = (issues: readonly string[]) =>
  new AppError({
    code: 'invalid_input',
    message: 'The answer does not fit the form',
    field: 'data',
    details: { issues },
  });

export const missingAnswer = (field: string) =>
  new AppError({ code: 'bad_request', message: `Missing ${field}`, field });

/** An approval names the arguments that it is for. */
export const missingArgumentsHash = (requestId: string) =>
  new AppError({
    code: 'bad_request',
    message: `Missing argumentsHash: send request.argumentsHash as request ${requestId} shows it. The approval counts for the shown arguments only`,
    field: 'argumentsHash',
  });

export const invalidAnswer = (field: string, message: string) => new AppError({ code: 'bad_request', message, field });

/** A word that this request does not take; the words it takes are in `issues`. */
export const invalidWord = (field: 'decision' | 'action', words: readonly string[]) =>
  new AppError({
    code: 'bad_request',
    message: `Invalid ${field}`,
    field,
    details: { issues: [`${field} must be one of ${words.join(', ')}`] },
  });

/** A field that this answer does not take; `takes`: the fields it does. */
export const invalidField = (field: string, message: string, takes: readonly string[]) =>
  new AppError({
    code: 'bad_request',
    message,
    field,
    details: { issues: [`The fields of this answer are ${takes.join(', ')}`] },
  });
