import { AppError, limitDetails, rateLimited } from '#platform';

import type { AbilitySubject } from './abilities.js';

/** The caller has no valid credential. The error is the same for a missing, wrong, expired or revoked one. */
export function unauthenticated(): AppError {
  return new AppError({ code: 'unauthenticated', message: 'Authentication required' });
}

/** The principal may read the row and may not do this to it. `reason`: a sentence with the cause and the roles that may. */
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

/** The error is the same for an absent row and for a forbidden one. */
export function notFound(subject: AbilitySubject): AppError {
  return new AppError({ code: 'not_found', message: `${NAMES[subject]} not found or unauthorized` });
}

/** Too many wrong keys with one prefix were sent. */
export function tooManyWrongKeys(max: number, retryAfterSeconds: number): AppError {
  const counts = 'wrong keys with one prefix in a minute';
  return rateLimited({ name: 'wrong_keys_per_minute', value: max, raisedBy: 'fixed', counts }, retryAfterSeconds);
}

/** The keys of the token's issuer cannot be fetched, so it is unknown whether the token is valid. */
export function issuerUnavailable(cause: unknown): AppError {
  return new AppError({
    code: 'unavailable',
    message: 'The identity provider cannot be reached. Try again later.',
    retryable: true,
    retryAfterSeconds: 5,
    cause,
  });
}

/** The value of a field is invalid; `field` is the name that the client uses. */
export function invalidInput(field: string, message: string): AppError {
  return new AppError({ code: 'bad_request', message, field });
}

/** A limit that the operator sets for each user or workspace. */
export interface OperatorLimit {
  readonly setting: string;
  readonly value: number;
  /** The counted things, such as `usable API keys of a workspace`. */
  readonly counts: string;
  /** What the caller can do, such as `revoke one`. */
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

/** A cap of a workspace must not exceed the ceiling of the operator. */
export function aboveCeiling(field: string, setting: string, ceiling: number): AppError {
  const message = `${field} must be at most ${ceiling} on this server (${setting}). The operator of this server can raise it.`;
  return new AppError({ code: 'bad_request', message, field });
}

/** The operator does not allow workspaces to send all their calls to the tool processes. */
export function toolIsolationRefused(): AppError {
  const message =
    'toolIsolation must be per_tool on this server (TOOL_ISOLATION_CEILING). The operator of this server can raise it.';
  return new AppError({ code: 'bad_request', message, field: 'toolIsolation' });
}

/** A workspace always has an owner. */
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

/** The token does not state that its issuer has verified an address. */
export function unverifiedAddress(): AppError {
  return new AppError({
    code: 'forbidden',
    message:
      'Your token has no verified address: it needs the claims "email" and "email_verified": true. Ask the operator of the identity provider.',
  });
}

/** The workspace has its maximum of open invitations. */
export function tooManyInvitations(max: number): AppError {
  return new AppError({
    code: 'conflict',
    message: `This workspace has ${max} open invitations, the maximum. Revoke some first.`,
  });
}

/** The user is already a member of the workspace. */
export function alreadyMember(): AppError {
  return new AppError({
    code: 'already_member',
    message: 'A member of this workspace already has this address. Change their role instead.',
    field: 'email',
  });
}

/** A key cannot have more rights than the principal that creates it. */
export function scopeExceedsRole(scope: string): AppError {
  return new AppError({
    code: 'scope_exceeds_role',
    message: `You cannot give the key the scope "${scope}", because you do not have it`,
    field: 'scopes',
  });
}

/**
 * The credential does not enter the named workspace, or its user is a member of none. The error is the same for an absent workspace and for a
 * forbidden one.
 */
export function workspaceNotFound(): AppError {
  const { code, message } = notFound('Workspace');
  return new AppError({ code, message, field: 'workspaceId' });
}

/** The user of the token is a member of several workspaces, and the request names none. */
export function workspaceRequired(): AppError {
  return new AppError({
    code: 'bad_request',
    message:
      'You are a member of several workspaces. Name one: header X-Workspace-Id, or workspaceId in connection_init',
    field: 'workspaceId',
  });
}
