import { Field, ObjectType } from '@nestjs/graphql';

import { AppError } from '../../errors/app-error.js';
import { isExpected } from './error-table.js';

/** Why a mutation changed nothing, in words for the person who asked for it. */
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

/** Who may not, who must wait, and what is broken, is not the user's mistake: these go to `errors`. */
const notTheUsers = new Set([
  'unauthenticated',
  'forbidden',
  'rate_limited',
  'job_limit_reached',
  'unavailable',
  'internal',
]);

/** Runs a mutation: expected failures become `userErrors`, everything else is thrown on. */
export async function toPayload<T extends object>(
  run: () => Promise<T>,
): Promise<Partial<T> & { userErrors: UserError[] }> {
  try {
    return { ...(await run()), userErrors: [] };
  } catch (error) {
    if (!isUserError(error)) throw error;
    // Every other member of a payload is nullable, and absent here.
    return { userErrors: [toUserError(error)] } as Partial<T> & { userErrors: UserError[] };
  }
}

function toUserError({ code, message, field, retryable, details: { issues } }: AppError): UserError {
  const sentences = Array.isArray(issues) ? issues.map(toSentence) : [];
  return { code, message, field: field ?? null, issues: sentences, retryable };
}

/** Issues with a code of their own say it first. */
function toSentence(issue: unknown): string {
  const { code, message } = Object(issue) as { readonly code?: unknown; readonly message?: unknown }; // only read
  return typeof code === 'string' && typeof message === 'string' ? `${code}: ${message}` : String(issue);
}

function isUserError(error: unknown): error is AppError {
  return isExpected(error) && !notTheUsers.has(error.code);
}
