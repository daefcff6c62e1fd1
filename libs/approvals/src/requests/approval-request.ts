import { createHash } from 'node:crypto';

import { canonicalJson, type JsonObject, parseArguments, type Tool } from '#tools';

import { type Preview, previewArguments } from './preview-arguments.js';
import { type HiddenArguments, hideArguments } from './redact-arguments.js';

/** One proposed call at one time: what a decision is bound to. */
export interface HashedCall {
  readonly tool: string;
  /** JSON text, as stored. */
  readonly arguments: string;
  readonly jobId: string;
  readonly round: number;
  readonly ordinal: number;
  /** When the request expires, as it is shown; null: never. */
  readonly expiresAt: string | null;
}

/** A call that a person has to decide about. */
export interface ApprovalQuestion extends Omit<HashedCall, 'tool'> {
  readonly tool: Pick<Tool, 'name' | 'allowEdit' | 'sensitiveFields'>;
  readonly agent: string | null;
  /** The user who started the job; null: no user did. */
  readonly requester: string | null;
  /** The policy's reason, a sentence. */
  readonly reason: string;
  readonly adminRequired: boolean;
}

/** What the person who decides is shown. */
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
  /** Names of members that are not shown: those the tool declares, and those that say of themselves that they are a secret. */
  readonly sensitiveFields: readonly string[];
}

/** The request of a call. Built from the stored arguments. Contains no text of the model. Pure. */
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
 * Whether a request can show a person what the call would do. It leaves out a value that the tool declares as sensitive, or whose
 * name marks it as a secret, and lists its name. Text that only looks like a credential is redacted on a guess, and the model
 * controls what looks like one: such a call must not be approved.
 */
export function isApprovable(args: string, sensitiveFields: readonly string[]): boolean {
  return hiddenOf(args, sensitiveFields)?.isGuessed === false;
}

/**
 * SHA-256, in hexadecimal, of the canonical JSON of `[tool, arguments, job, round, ordinal, expiry]`. Equal for arguments that
 * mean the same; arguments that cannot be read count as their text.
 */
export function argumentsHash(call: HashedCall): string {
  const parsed = parseArguments(call.arguments);
  const args = parsed.ok ? parsed.value : call.arguments;
  const tuple = [call.tool, args, call.jobId, call.round, call.ordinal, call.expiresAt];
  return createHash('sha256').update(canonicalJson(tuple)).digest('hex');
}

const UNSHOWN: Preview = { text: '(the arguments cannot be shown)', truncated: true };

/** Null: too large, undecodable, or no longer there. */
function hiddenOf(text: string, sensitiveFields: readonly string[]): HiddenArguments | null {
  const parsed = parseArguments(text);
  return parsed.ok && !isStandIn(parsed.value) ? hideArguments(parsed.value, sensitiveFields) : null;
}

/** What is stored in the place of arguments that were too large to keep. */
function isStandIn(value: JsonObject): boolean {
  return value['_omitted'] === true && typeof value['bytes'] === 'number' && Object.keys(value).length === 2;
}
