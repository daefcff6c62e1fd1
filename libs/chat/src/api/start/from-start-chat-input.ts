import { createHash } from 'node:crypto';

import { clientToolProblem } from '#approvals';
import { toJobLabels } from '#jobs';
import { idempotencyKeyRule, parseKey } from '#jobs/api';
import type { ChatMessage, ModelParameters, ToolChoice, ToolDefinition } from '#models';
import { AppError, Secret, toStorable } from '#platform';
import { missing } from '#platform/api';
import { canonicalJson, type ClientToolOptions } from '#tools';

import { toChatMessage } from '../../history/to-chat-message.js';
import type { StartChat } from '../../input/start-chat.js';
import { toAgentSelection } from './agent-selection.input.js';
import { attachTo } from './file-attachment.input.js';
import type { ChatMessageInput, ClientToolInput, StartChatInput } from './start-chat.input.js';
import { toProviderDown } from './to-provider-down.js';
import { toToolApproval } from './to-tool-approval.js';

const shortestTimeoutMs = 1_000;
const longestTimeoutMs = 7 * 86_400_000;

type Tools = Pick<StartChat, 'tools' | 'toolRuntimes' | 'client'>;
type Given = Pick<StartChatInput, 'tools' | 'clientTools' | 'clientDeviceId'>;

/** Reads the tools of `startChat`: server tools by name, client tools by definition. Throws `bad_request`. Pure. */
export function toTools({ tools, clientTools, clientDeviceId }: Given): Tools {
  const names = tools ?? [];
  const declared = clientTools ?? [];
  if (clientDeviceId === '' || (clientDeviceId?.length ?? 0) > 256)
    throw invalid('clientDeviceId', 'clientDeviceId must have 1 to 256 characters');
  if (declared.length === 0 && clientDeviceId == null) return { tools: names, toolRuntimes: {} };
  const definitions = declared.map(toDefinition);
  const problem = clientToolProblem(definitions);
  if (problem !== null) throw invalid('clientTools', problem);
  const twice = declared.find(({ name }) => names.includes(name));
  if (twice !== undefined) throw invalid('clientTools', `"${twice.name}" is among tools and clientTools; name it once`);
  return {
    tools: [...names, ...definitions],
    toolRuntimes: Object.fromEntries(declared.map(({ name }) => [name, 'client' as const])),
    client: {
      deviceId: clientDeviceId ?? null,
      tools: Object.fromEntries(declared.map((tool) => [tool.name, toTerms(tool)])),
    },
  };
}

function toDefinition({ name, description, parameters }: ClientToolInput): ToolDefinition {
  if (parameters != null && !isRecord(parameters)) throw invalid('clientTools', 'parameters must be a JSON Schema');
  return {
    type: 'function',
    function: {
      name,
      ...(description == null ? {} : { description }),
      ...(parameters == null ? {} : { parameters }),
    },
  };
}

function toTerms({ timeoutMs, onTimeout, effect }: ClientToolInput): ClientToolOptions {
  if (timeoutMs != null && (timeoutMs < shortestTimeoutMs || timeoutMs > longestTimeoutMs))
    throw invalid('clientTools', `timeoutMs must be from ${shortestTimeoutMs} to ${longestTimeoutMs}`);
  return {
    ...(timeoutMs == null ? {} : { timeoutMs }),
    ...(onTimeout == null ? {} : { onTimeout }),
    ...(effect == null ? {} : { effect }),
  };
}

/** Reads the input of `startChat`. Throws `bad_request` with the invalid field, or `not_storable`. Pure. */
export function fromStartChatInput(given: StartChatInput): StartChat {
  // The input is normalized once, here, so that the hash covers exactly what is stored. The cast holds, because only texts change.
  const input = toStorable(given) as unknown as StartChatInput;
  const { threadId, clientMessageId, model, toolChoice, parameters, whenBusy, providerKey } = input;
  return {
    threadRef: toName('threadId', threadId),
    createThread: true,
    messageClientId: toName('clientMessageId', clientMessageId),
    ...toAgentSelection(input.agent),
    model: toName('model', model),
    messages: toMessages(input),
    history: 'thread',
    ...toTools(input),
    ...toToolApproval(input.toolApproval, 'toolApproval'),
    ...toProviderDown(input),
    toolChoice: toToolChoice(toolChoice ?? null),
    parameters: toParameters(parameters ?? {}),
    whenBusy: whenBusy ?? null,
    ...(input.startAt == null ? {} : { startAt: input.startAt }),
    labels: toJobLabels(input.labels),
    idempotency: toIdempotency(input.idempotencyKey, input),
    providerKey: providerKey == null ? null : toProviderKey(providerKey),
    backgroundMode: null,
  };
}

/** Ids and names have 1 to 256 characters on every API. Throws `bad_request`. */
export function toName(field: string, text: string | null | undefined): string | null {
  if (text == null) return null;
  if (text === '' || text.length > 256) throw invalid(field, `${field} must have 1 to 256 characters`);
  return text;
}

/** Reads the key, and computes the hash of the rest of the input. Throws `bad_request`. */
export function toIdempotency(key: string | null | undefined, input: object): StartChat['idempotency'] {
  if (key == null) return null;
  if (parseKey(key) === null) throw invalid('idempotencyKey', `An idempotency key ${idempotencyKeyRule}`);
  const covered = Object.entries(input).filter(([name, value]) => name !== 'idempotencyKey' && value != null);
  const requestHash = createHash('sha256')
    .update(canonicalJson(Object.fromEntries(covered)))
    .digest('hex');
  return { key, requestHash };
}

function toMessages({ message, messages, attachments }: StartChatInput): readonly ChatMessage[] {
  if (message != null && messages != null) throw invalid('messages', 'Give message or messages, not both');
  if (message === '' || (message == null && messages == null)) throw missing('message');
  if (message != null) return [attachTo({ role: 'user', content: message }, attachments)];
  if (attachments != null && attachments.length > 0)
    throw invalid('attachments', 'attachments belong to message: attach files to an entry of messages');
  if (messages?.length === 0) throw missing('messages');
  return (messages ?? []).map(toMessage);
}

function toMessage({ role, content, name, toolCalls, toolCallId, attachments }: ChatMessageInput): ChatMessage {
  const message = toChatMessage(role, { content, name, tool_calls: toolCalls, tool_call_id: toolCallId });
  if (message === null) throw invalid('messages', 'A message needs a known role and content');
  return attachTo(message, attachments);
}

function toToolChoice(value: unknown): ToolChoice | null {
  if (value === null || value === 'auto' || value === 'none' || value === 'required') return value;
  const asked = isRecord(value) && value['type'] === 'function' ? value['function'] : undefined;
  const name = isRecord(asked) ? asked['name'] : undefined;
  if (typeof name !== 'string')
    throw invalid('toolChoice', 'toolChoice must be "auto", "none", "required" or name a function');
  if (name === '' || name.length > 256)
    throw invalid('toolChoice', 'The name of a function in toolChoice must have 1 to 256 characters');
  return { type: 'function', function: { name } };
}

function toParameters(value: unknown): ModelParameters {
  if (!isRecord(value)) throw invalid('parameters', 'parameters must be an object');
  return value;
}

/** Throws `bad_request`. */
export function toProviderKey(text: string): Secret {
  if (!/^[\x21-\x7e]{1,512}$/.test(text)) throw invalid('providerKey', 'Invalid model API key');
  return new Secret(text);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(field: string, message: string): AppError {
  return new AppError({ code: 'bad_request', message, field });
}
