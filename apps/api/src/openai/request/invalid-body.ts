import type { Request } from 'express';
import type { z } from 'zod';

import { hasEmptyBody } from '#platform/api';

import { OpenAiError } from '../../errors/openai-error.js';

type Issue = z.core.$ZodIssue;

const longestPath = 120;

/** 400 for an invalid completion request. `problem` names the field; absent: the body is not a JSON object at all. */
export function invalidBody(problem?: string): OpenAiError {
  return new OpenAiError({
    status: 400,
    message: `Invalid request body${problem === undefined ? '' : `: ${problem}`}`,
  });
}

/** 400 that names the first field of a wrong type. */
export function invalidField(error: z.ZodError): OpenAiError {
  return invalidBody(fieldProblem(error));
}

/** The first problem as `messages[0].content: must be a text`. Parse with `problemInWords`. Pure. */
export function fieldProblem({ issues }: z.ZodError): string {
  const [first] = issues;
  if (first === undefined) return 'it has a field of a wrong type';
  const { path, message } = deepest(first, []);
  return `${pathOf(path)}: ${message}`;
}

interface Problem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** For a union type, reports the problem of the variant that matches deepest. */
function deepest(issue: Issue, above: readonly PropertyKey[]): Problem {
  const path = [...above, ...issue.path];
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return { path, message: issue.message };
  const problems = issue.errors.flatMap((branch) => branch.slice(0, 1).map((each) => deepest(each, path)));
  const within = problems.filter((each) => each.path.length > path.length);
  const best = within.toSorted((a, b) => b.path.length - a.path.length)[0];
  return best ?? { path, message: issue.message };
}

function pathOf(path: readonly PropertyKey[]): string {
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  return text.replace(/^\./, '').slice(0, longestPath);
}

/** The parsed body; undefined for an empty one, which the JSON parser returns as `{}` although it is not JSON. */
export function bodyOf(request: Request): unknown {
  return hasEmptyBody(request) ? undefined : (request.body as unknown);
}
