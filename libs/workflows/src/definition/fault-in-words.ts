import type { z } from 'zod';

type Issue = z.core.$ZodRawIssue;

const types: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/** What is wrong with a value, as the end of a sentence that begins with its name. */
export function faultInWords(issue: Issue): string {
  const wanted = wantedBy(issue);
  return issue.input === undefined ? `is missing; it must be ${wanted}` : `must be ${wanted}`;
}

function wantedBy(issue: Issue | z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return types[issue.expected] ?? `of the type ${issue.expected}`;
    case 'invalid_value':
      return oneOf(issue.values.map((value) => JSON.stringify(value)));
    case 'too_small':
      return measured(issue.origin, `${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`);
    case 'too_big':
      return measured(issue.origin, `${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}`);
    case 'invalid_union':
      return oneOf(issue.errors.flatMap(([first]) => (first === undefined ? [] : [wantedBy(first)])));
    case 'custom':
      return wantedByRule(issue.params?.['wanted']);
    case 'not_multiple_of':
    case 'invalid_format':
    case 'invalid_key':
    case 'invalid_element':
    case 'unrecognized_keys': // no schema here asks for what these are about
      return 'something else';
  }
}

/** What our own rules say of themselves. */
function wantedByRule(wanted: unknown): string {
  return typeof wanted === 'string' ? wanted : 'something else';
}

/** `bound`: of the number, or of how many characters or entries there are. */
function measured(origin: string, bound: string): string {
  if (origin === 'string') return bound === 'at least 1' ? 'a text that is not empty' : `a text of ${bound} characters`;
  if (origin === 'array') return `a list of ${bound} ${bound.endsWith(' 1') ? 'entry' : 'entries'}`;
  return bound;
}

function oneOf(values: readonly string[]): string {
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(values);
}
