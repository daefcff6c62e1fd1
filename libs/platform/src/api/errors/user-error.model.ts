import { Field, ObjectType } from '@nestjs/graphql';

import { AppError } from '../../errors/app-error.js';
import { isExpected } from './error-table.js';

@ObjectType({ description: 'Why a mutation changed nothing. Branch on `code`; the list of codes may grow.' })
export class UserError {
  @Field(() => String, { description: 'A stable snake_case code such as `thread_busy` or `not_found`.' })
  code!: string;

  @Field(() => String, { description: 'A message for people.' })
  message!: string;

  @Field(() => String, { nullable: true, description: 'The invalid field of the input, if any.' })
  field!: string | null;

  @Field(() => [String], { description: 'Details, one sentence each. Often empty.' })
  issues!: readonly string[];

  @Field(() => Boolean, { description: 'Whether the same mutation may succeed later without a change.' })
  retryable!: boolean;
}

/** Codes that are not mistakes of the user: missing rights, limits, and faults of the server. These are reported in `errors`. */
const notTheUsers = new Set([
  'unauthenticated',
  'forbidden',
  'rate_limited',
  'job_limit_reached',
  'unavailable',
  'internal',
]);

/** Runs a mutation. Expected failures become `userErrors`; other errors are thrown. */
export async function toPayload<T extends object>(
  run: () => Promise<T>,
): Promise<Partial<T> & { userErrors: UserError[] }> {
  try {
    return { ...(await run()), userErrors: [] };
  } catch (error) {
    if (!isUserError(error)) throw error;
    // Every other field of a payload is nullable, and absent here.
    return { userErrors: [toUserError(error)] } as Partial<T> & { userErrors: UserError[] };
  }
}

function toUserError({ code, message, field, retryable, details: { issues } }: AppError): UserError {
  const sentences = Array.isArray(issues) ? issues.map(toSentence) : [];
  return { code, message, field: field ?? null, issues: sentences, retryable };
}

/** If an issue has a code, the sentence begins with it. */
function toSentence(issue: unknown): string {
  const { code, message } = Object(issue) as { readonly code?: unknown; readonly message?: unknown }; // the object is only read
  return typeof code === 'string' && typeof message === 'string' ? `${code}: ${message}` : String(issue);
}

function isUserError(error: unknown): error is AppError {
  return isExpected(error) && !notTheUsers.has(error.code);
}
