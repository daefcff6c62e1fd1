import { createHash } from 'node:crypto';

import { canonicalJson, type JsonObject, parseArguments, type Tool } from '#tools';

import { type Preview, previewArguments } from './preview-arguments.js';
import { type HiddenArguments, hideArguments } from './redact-arguments.js';

/** A proposed call and the position that it has in its job: a decision is bound to these fields. */
export interface HashedCall {
  readonly tool: string;
  /** JSON text, as stored. */
  readonly arguments: string;
  readonly jobId: string;
  readonly round: number;
  readonly ordinal: number;
  /** The time when the request expires, as text; null: never. */
  readonly expiresAt: string | null;
}

/** A call that needs a person's decision. */
export interface ApprovalQuestion extends Omit<HashedCall, 'tool'> {
  readonly tool: Pick<Tool, 'name' | 'allowEdit' | 'sensitiveFields'>;
  readonly agent: string | null;
  /** The user who started the job; null: no user did. */
  readonly requester: string | null;
  /** The policy's reason, a sentence. */
  readonly reason: string;
  readonly adminRequired: boolean;
}

/** The contents of an approval request, which the approver sees. */
export interface ApprovalRequest {
  readonly tool: string;
  readonly title: string;
  readonly agent: string | null;
  readonly requester: string | null;
  readonly reason: string;
  readonly argumentsPreview: string;
  /** Whether any value was truncated, or redacted without a declaration that it is sensitive. */
  readonly argumentsTruncated: boolean;
  readonly argumentsHash: string;
  /** False: the complete arguments cannot be shown, and only `deny` is possible. */
  readonly approvable: boolean;
  readonly allowEdit: boolean;
  readonly adminRequired: boolean;
  /** Names of fields whose values are hidden: those that the tool declares, and those with the name of a secret. */
  readonly sensitiveFields: readonly string[];
}

/** Creates the request of a call from the stored arguments. The request contains no text of the model. Pure. */
export function approvalRequest(question: ApprovalQuestion): ApprovalRequest {
  const { tool, agent, requester, reason, adminRequired } = question;
  const hidden = hiddenOf(question.arguments, tool.sensitiveFields);
  const preview = hidden === null ? UNSHOWN : previewArguments(hidden.shown);
  const approvable = hidden?.isGuessed === false;
  return {
    tool: tool.name,
    title: `Run ${tool.name}`,
    agent,
    requester,
    reason,
    argumentsPreview: preview.text,
    argumentsTruncated: preview.truncated || !approvable,
    argumentsHash: argumentsHash({ ...question, tool: tool.name }),
    approvable,
    allowEdit: tool.allowEdit && approvable,
    adminRequired,
    sensitiveFields: hidden?.fields ?? tool.sensitiveFields,
  };
}

/**
 * Whether a request can show a person the effect of the call. The request hides a value that the tool declares as sensitive, or whose name marks
 * it as a secret, and lists the name. Text that only looks like a credential is hidden, too. The model could hide any text in this way, so a
 * call with such text cannot be approved.
 */
export function isApprovable(args: string, sensitiveFields: readonly string[]): boolean {
  return hiddenOf(args, sensitiveFields)?.isGuessed === false;
}

/**
 * SHA-256, in hexadecimal, of the canonical JSON of `[tool, arguments, job, round, ordinal, expiry]`. Equivalent arguments have the same
 * hash; arguments that cannot be parsed are hashed as text.
 */
export function argumentsHash(call: HashedCall): string {
  const parsed = parseArguments(call.arguments);
  const args = parsed.ok ? parsed.value : call.arguments;
  const tuple = [call.tool, args, call.jobId, call.round, call.ordinal, call.expiresAt];
  return createHash('sha256').update(canonicalJson(tuple)).digest('hex');
}

const UNSHOWN: Preview = { text: '(the arguments cannot be shown)', truncated: true };

/** Null: the arguments are too large, cannot be parsed, or are no longer stored. */
function hiddenOf(text: string, sensitiveFields: readonly string[]): HiddenArguments | null {
  const parsed = parseArguments(text);
  return parsed.ok && !isStandIn(parsed.value) ? hideArguments(parsed.value, sensitiveFields) : null;
}

/** Whether the value replaces arguments that were too large to store. */
function isStandIn(value: JsonObject): boolean {
  return value['_omitted'] === true && typeof value['bytes'] === 'number' && Object.keys(value).length === 2;
}
