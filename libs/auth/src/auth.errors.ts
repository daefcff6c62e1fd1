import { AppError, limitDetails, rateLimited } from '#platform';

import type { AbilitySubject } from './abilities.js';

/** For a caller without a valid credential. Missing, wrong, expired and revoked ones get the same error. */
export function unauthenticated(): AppError {
  return new AppError({ code: 'unauthenticated', message: 'Authentication required' });
}

/** For a principal who may read the row and may not do this to it. `reason`: a sentence with the cause and the roles that may. */
export function forbidden(reason = 'Forbidden'): AppError {
  return new AppError({ code: 'forbidden', message: reason });
}

const NAMES: Record<AbilitySubject, string> = {
  Workspace: 'Workspace',
  Membership: 'Member',
  Invitation: 'Invitation',
  ApiKey: 'API key',
  ModelProvider: 'Provider',
  WorkspaceTool: 'Tool',
  McpServer: 'MCP server',
  StoredFile: 'File',
  SyntrixConnection: 'Syntrix connection',
  Workflow: 'Workflow',
  Agent: 'Agent',
  Trigger: 'Trigger',
  Schedule: 'Schedule',
  WorkspaceSecret: 'Secret',
  WebhookEndpoint: 'Webhook endpoint',
  Thread: 'Thread',
  Message: 'Message',
  Job: 'Job',
  ToolCall: 'Tool call',
  Interrupt: 'Request',
  Notification: 'Notification',
  NotificationChannel: 'Notification channel',
  AuditEntry: 'Workspace',
  FeatureFlag: 'Feature flag',
  Tool: 'Tool',
};

/** Absent and forbidden look the same. */
export function notFound(subject: AbilitySubject): AppError {
  return new AppError({ code: 'not_found', message: `${NAMES[subject]} not found or unauthorized` });
}

/** Too many wrong keys with one prefix. */
export function tooManyWrongKeys(most: number, retryAfterSeconds: number): AppError {
  const counts = 'wrong keys with one prefix in a minute';
  return rateLimited({ name: 'wrong_keys_per_minute', value: most, raisedBy: 'fixed', counts }, retryAfterSeconds);
}

/** The token issuer's keys cannot be fetched; the token may be valid. */
export function issuerUnavailable(cause: unknown): AppError {
  return new AppError({
    code: 'unavailable',
    message: 'The sign-in service cannot be reached, try again later',
    retryable: true,
    retryAfterSeconds: 5,
    cause,
  });
}

/** An input that is wrong in itself; `field` as the client names it. */
export function invalidInput(field: string, message: string): AppError {
  return new AppError({ code: 'bad_request', message, field });
}

/** A limit of the operator on what a user or a workspace has. */
export interface OperatorLimit {
  readonly setting: string;
  readonly value: number;
  /** What it counts, as in `usable API keys of a workspace`. */
  readonly counts: string;
  /** What the caller can do, as in `revoke one`. */
  readonly remedy: string;
}

/** A user or workspace has reached a limit of the operator. */
export function limitReached({ setting, value, counts, remedy }: OperatorLimit): AppError {
  return new AppError({
    code: 'limit_reached',
    message: `At most ${value} ${counts} (${setting}). The operator of this server can raise it, or ${remedy}.`,
    details: limitDetails({ name: setting, value, raisedBy: 'operator' }),
  });
}

/** A workspace sets its caps below the ceilings of the operator. */
export function aboveCeiling(field: string, setting: string, ceiling: number): AppError {
  const message = `${field} must be at most ${ceiling} on this server (${setting}). The operator of this server can raise it.`;
  return new AppError({ code: 'bad_request', message, field });
}

/** The operator does not let workspaces send all their calls to the tool processes. */
export function toolIsolationRefused(): AppError {
  const message =
    'toolIsolation must be per_tool on this server (TOOL_ISOLATION_CEILING). The operator of this server can raise it.';
  return new AppError({ code: 'bad_request', message, field: 'toolIsolation' });
}

/** A workspace is never left without an owner. */
export function lastOwner(): AppError {
  return new AppError({
    code: 'last_owner',
    message: 'This is the only owner of the workspace. Make another member owner first.',
  });
}

/** An API key tried an operation that requires a user token. */
export function personRequired(what: string): AppError {
  return new AppError({
    code: 'forbidden',
    message: `An API key cannot ${what}. Sign in with a token of the user instead.`,
  });
}

/** For a token whose issuer does not say that it verified an address. */
export function unverifiedAddress(): AppError {
  return new AppError({
    code: 'forbidden',
    message:
      'Your token has no verified address: it needs the claims "email" and "email_verified": true. Ask the operator of the sign-in service.',
  });
}

/** A workspace has as many open invitations as it may. */
export function tooManyInvitations(most: number): AppError {
  return new AppError({
    code: 'conflict',
    message: `This workspace has ${most} open invitations, the maximum. Revoke some first.`,
  });
}

/** The user is in the workspace already. */
export function alreadyMember(): AppError {
  return new AppError({
    code: 'already_member',
    message: 'A member of this workspace already has this address. Change their role instead.',
    field: 'email',
  });
}

/** A key can do no more than the principal that makes it. */
export function scopeExceedsRole(scope: string): AppError {
  return new AppError({
    code: 'scope_exceeds_role',
    message: `You cannot give the scope "${scope}": you do not have it`,
    field: 'scopes',
  });
}

/** The credential does not open the named workspace, or its user belongs to none. Absent and forbidden look the same. */
export function workspaceNotFound(): AppError {
  const { code, message } = notFound('Workspace');
  return new AppError({ code, message, field: 'workspaceId' });
}

/** A token does not say which of its user's workspaces is meant. */
export function workspaceRequired(): AppError {
  return new AppError({
    code: 'bad_request',
    message:
      'You are a member of several workspaces. Name one: header X-Workspace-Id, or workspaceId in connection_init',
    field: 'workspaceId',
  });
}
