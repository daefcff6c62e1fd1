import type { z } from 'zod';

type Issue = z.core.$ZodRawIssue;

const types: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  object: 'an object',
  record: 'an object',
  date: 'a date',
  null: 'null',
};

const formats: Readonly<Record<string, string>> = {
  email: 'an email address',
  url: 'a URL',
  uuid: 'a UUID',
  datetime: 'a date and time such as 2027-01-31T12:00:00Z',
};

/** The first problem of an input. */
export interface FieldProblem {
  readonly path: readonly PropertyKey[];
  /** Such as `parameters.temperature`; empty for the input as a whole. */
  readonly field: string;
  /** The end of a sentence that begins with the field, such as `must be a number`. */
  readonly text: string;
}

/** Parses an input with a schema. Problems are described in plain words, because the parser's own texts are for programmers. */
export function readInput<S extends z.ZodType>(
  schema: S,
  input: unknown,
): { readonly data: z.output<S> } | { readonly problem: FieldProblem } {
  const parsed = schema.safeParse(input, { error: problemInWords });
  if (parsed.success) return { data: parsed.data };
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const path = [...(issue?.path ?? []), ...unknown];
  return { problem: { path, field: path.map(String).join('.'), text: issue?.message ?? 'has a wrong value' } };
}

/** An error map for zod. It describes the fault of a value as the end of a sentence that begins with the name of the field. */
export function problemInWords(issue: Issue): string {
  if (issue.code === 'unrecognized_keys') return 'is not a known field';
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
      return `a multiple of ${String(issue.divisor)}`;
    case 'invalid_format':
      return formatWanted(issue);
    case 'invalid_key':
    case 'invalid_element':
    case 'unrecognized_keys':
      return 'something else';
  }
}

function formatWanted({ format, pattern }: { readonly format: string; readonly pattern?: string | undefined }): string {
  if (format === 'regex' && pattern !== undefined) return `a text that matches ${pattern}`;
  return formats[format] ?? `a valid ${format.replaceAll('_', ' ')}`;
}

/** The `params.wanted` of a custom rule. */
function wantedByRule(wanted: unknown): string {
  return typeof wanted === 'string' ? wanted : 'something else';
}

/** `bound`: the limit of a number, or of the number of characters or entries. */
function measured(origin: string, bound: string): string {
  if (origin === 'string') return bound === 'at least 1' ? 'a text that is not empty' : `a text of ${bound} characters`;
  if (origin === 'array') return `a list of ${bound} ${bound.endsWith(' 1') ? 'entry' : 'entries'}`;
  return bound;
}

/** Shared, because creating one takes 3 µs, and an input may have 100,000 problems. */
const disjunction = new Intl.ListFormat('en', { type: 'disjunction' });

function oneOf(values: readonly string[]): string {
  return disjunction.format(values);
}
