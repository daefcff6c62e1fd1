import { AppError } from '../../errors/app-error.js';

/** How the APIs report one error code. */
export interface ErrorRow {
  readonly status: number;
  /** `extensions.code` in GraphQL. */
  readonly graphql: GraphqlErrorCode;
}

export type GraphqlErrorCode =
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'BAD_USER_INPUT'
  | 'CONFLICT'
  | 'RATE_LIMITED'
  | 'QUOTA_EXCEEDED'
  | 'UNAVAILABLE'
  | 'INTERNAL';

const badInput: ErrorRow = { status: 400, graphql: 'BAD_USER_INPUT' };
const unprocessable: ErrorRow = { status: 422, graphql: 'BAD_USER_INPUT' };
const conflict: ErrorRow = { status: 409, graphql: 'CONFLICT' };
const tooMany: ErrorRow = { status: 429, graphql: 'RATE_LIMITED' };
const unavailable: ErrorRow = { status: 503, graphql: 'UNAVAILABLE' };

/** Every code that a library or an endpoint throws on purpose. A code that is missing here is a bug and is reported as `internal`. */
export const errorTable = {
  bad_request: badInput,
  invalid_cursor: badInput,
  invalid_input: badInput,
  not_storable: badInput,
  missing_model_key: badInput,
  invalid_base_url: badInput,
  model_url_refused: badInput,
  unauthenticated: { status: 401, graphql: 'UNAUTHENTICATED' },
  forbidden: { status: 403, graphql: 'FORBIDDEN' },
  cannot_decide: { status: 403, graphql: 'FORBIDDEN' },
  operation_not_allowed: { status: 403, graphql: 'FORBIDDEN' },
  hook_denied: { status: 403, graphql: 'FORBIDDEN' },
  hook_failed: unavailable,
  mcp_stdio_disabled: { status: 403, graphql: 'FORBIDDEN' },
  scope_exceeds_role: { status: 403, graphql: 'FORBIDDEN' },
  not_found: { status: 404, graphql: 'NOT_FOUND' },
  method_not_allowed: { status: 405, graphql: 'BAD_USER_INPUT' },
  not_acceptable: { status: 406, graphql: 'BAD_USER_INPUT' },
  body_timeout: { status: 408, graphql: 'BAD_USER_INPUT' },
  conflict,
  thread_busy: conflict,
  admission_cancelled: conflict,
  start_in_flight: conflict,
  last_owner: conflict,
  already_member: conflict,
  already_claimed: conflict,
  already_executed: conflict,
  claim_changed: conflict,
  claim_lost: conflict,
  no_agents: conflict,
  not_pending: conflict,
  not_redrivable: conflict,
  other_device: conflict,
  already_answered: conflict,
  arguments_changed: conflict,
  workflow_changed: conflict,
  sub_job_limit: conflict,
  sub_job_unwanted: conflict,
  workflow_recursion: conflict,
  workflow_not_published: conflict,
  workflow_payload_mismatch: conflict,
  workflow_stale: conflict,
  workflow_version_mismatch: conflict,
  expired: { status: 410, graphql: 'CONFLICT' },
  wrong_host: { status: 421, graphql: 'FORBIDDEN' },
  too_large: { status: 413, graphql: 'BAD_USER_INPUT' },
  unsupported_media_type: { status: 415, graphql: 'BAD_USER_INPUT' },
  idempotency_key_mismatch: unprocessable,
  invalid_arguments: unprocessable,
  not_approvable: unprocessable,
  workflow_invalid: unprocessable,
  workflow_not_runnable: unprocessable,
  rate_limited: tooMany,
  limit_reached: { status: 409, graphql: 'QUOTA_EXCEEDED' },
  job_limit_reached: { status: 503, graphql: 'QUOTA_EXCEEDED' },
  background_jobs_off: { status: 501, graphql: 'UNAVAILABLE' },
  client_tools_off: { status: 501, graphql: 'UNAVAILABLE' },
  unavailable,
  internal: { status: 500, graphql: 'INTERNAL' },
} as const satisfies Readonly<Record<string, ErrorRow>>;

export type ErrorCode = keyof typeof errorTable;

/** The row of a code, or the row of `internal` for a code that is missing from the table. */
export function errorRowOf(code: string): ErrorRow & { readonly isKnown: boolean } {
  return isErrorCode(code) ? { ...errorTable[code], isKnown: true } : { ...errorTable.internal, isKnown: false };
}

/** Whether a thrown value is an expected failure, whose code and message may be shown to the caller. */
export function isExpected(error: unknown): error is AppError {
  return error instanceof AppError && isErrorCode(error.code) && error.code !== 'internal';
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorTable, code);
}
