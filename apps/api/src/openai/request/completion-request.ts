import { createHash } from 'node:crypto';

import type { ChatMessage, ContentPart, MessageContent, ModelParameters, ToolChoice, ToolDefinition } from '#models';
import { problemInWords, type Storable, toStorable } from '#platform';
import { canonicalJson } from '#tools';

import { OpenAiError } from '../../errors/openai-error.js';
import { type CompletionBody, completionBody, knownFields, parameterNames } from './completion-body.js';
import { invalidBody, invalidField } from './invalid-body.js';

/** The parsed and validated body of `POST /v1/chat/completions`. */
export interface CompletionRequest {
  readonly model: string;
  /** The messages as sent: they may contain blocks of tool calls and be invalid for a provider. `developer` has become `system`. */
  readonly messages: readonly ChatMessage[];
  /** Functions of the client. */
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice: ToolChoice | null;
  /** Sampling fields for the provider. */
  readonly parameters: ModelParameters;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Stored with the response; does not identify the caller. */
  readonly about: RequestNotes;
  /** Names of fields without effect. */
  readonly ignored: readonly string[];
  /** SHA-256 (hex) of the body without `stream` and `stream_options`. */
  readonly bodyHash: string;
}

/** Information that a client stores with its request. */
export interface RequestNotes {
  readonly user?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly store?: boolean;
}

type Fields = Readonly<Record<string, Storable>>;

/** Checked before the entries, whose problems take time. The limit of the functions that are used is 128 (`chooseMode`). */
const MAX_TOOLS = 1_000;

/** Reads a body of at most `maxMessages` messages. Throws `OpenAiError`, and nothing else. Pure. */
export function parseCompletionRequest(body: unknown, maxMessages: number): CompletionRequest {
  const sent = storableFields(body);
  const { messages } = sent;
  if (!Array.isArray(messages) || messages.length === 0) {
    const message = 'Messages array is required and must not be empty';
    throw new OpenAiError({ status: 400, message, param: 'messages' });
  }
  if (messages.length > maxMessages) throw tooManyMessages(messages.length, maxMessages);
  const { tools } = sent;
  if (Array.isArray(tools) && tools.length > MAX_TOOLS)
    throw invalidBody(`tools: at most ${MAX_TOOLS} entries fit in a request`);
  const fields = withoutAbsent(sent);
  refuseUnsupported(fields);
  if ((fields['model'] ?? '') === '')
    throw new OpenAiError({ status: 400, message: 'Model is required', param: 'model' });
  const parsed = completionBody.safeParse(fields, { error: problemInWords });
  if (!parsed.success) throw invalidField(parsed.error);
  const { data } = parsed;
  return {
    model: data.model,
    messages: toMessages(data.messages),
    tools: (data.tools ?? []).map(toDefinition),
    toolChoice: data.tool_choice ?? null,
    parameters: toParameters(data),
    stream: data.stream === true,
    includeUsage: data.stream_options?.include_usage === true,
    about: toNotes(data),
    ignored: Object.keys(fields).filter((name) => !knownFields.has(name)),
    bodyHash: hashOf(sent),
  };
}

function tooManyMessages(given: number, max: number): OpenAiError {
  const message = `Too many messages: ${given}, at most ${max} (MAX_MESSAGES). Send fewer or shorten the conversation`;
  return new OpenAiError({ status: 400, message, param: 'messages' });
}

/** Normalizes the body once, so that the hashed fields are the stored ones. An empty body is not JSON. */
function storableFields(body: unknown): Fields {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalidBody();
  try {
    return toStorable(body) as Fields; // an object in, an object out
  } catch {
    const deep = Object.entries(body).find(([, value]) => !isStorable(value));
    throw invalidBody(deep === undefined ? undefined : `${deep[0].slice(0, 120)}: nested too deep`);
  }
}

function isStorable(value: unknown): boolean {
  try {
    toStorable(value);
    return true;
  } catch {
    return false;
  }
}

/** Fields of which 0 means "not used". For the others, `temperature` or `seed` for example, 0 is a value. */
const unusedWhenZero: ReadonlySet<string> = new Set([
  ...['n', 'logprobs', 'top_logprobs', 'max_tokens', 'max_completion_tokens'],
]);

/** Removes empty values: SDKs and front ends send them for fields that the caller has not set. */
function withoutAbsent(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => !isAbsent(name, value)));
}

function isAbsent(name: string, value: Storable): boolean {
  if (name === 'messages' || name === 'model') return false;
  if (value === null || (value === 0 && unusedWhenZero.has(name))) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** Fields that the server does not support and that would change the response. */
const unsupported: Readonly<Record<string, (value: Storable) => boolean>> = {
  n: (value) => typeof value === 'number' && value > 1,
  logprobs: (value) => value === true,
  top_logprobs: () => true,
  logit_bias: () => true,
  audio: () => true,
  functions: () => true,
  function_call: () => true,
  modalities: (value) => Array.isArray(value) && value.some((each) => each !== 'text'),
};

function refuseUnsupported(fields: Fields): void {
  for (const [name, isRefused] of Object.entries(unsupported)) {
    const value = fields[name] ?? null;
    if (value === null || !isRefused(value)) continue;
    const message = `Unsupported parameter: '${name}'`;
    throw new OpenAiError({ status: 400, message, param: name, code: 'unsupported_parameter' });
  }
}

function toDefinition({ function: asked }: NonNullable<CompletionBody['tools']>[number]): ToolDefinition {
  const { name, description, parameters, strict } = asked;
  return {
    type: 'function',
    function: {
      name,
      ...(typeof description === 'string' ? { description } : {}),
      ...(typeof parameters === 'object' && parameters !== null ? { parameters } : {}),
      ...(typeof strict === 'boolean' ? { strict } : {}),
    },
  };
}

function toParameters(body: CompletionBody): ModelParameters {
  const given = Object.entries(body).filter(([name, value]) => parameterNames.includes(name) && value !== null);
  return Object.fromEntries(given);
}

function toNotes({ user, metadata, store }: CompletionBody): RequestNotes {
  return {
    ...(typeof user === 'string' ? { user } : {}),
    ...(typeof metadata === 'object' && metadata !== null ? { metadata } : {}),
    ...(typeof store === 'boolean' ? { store } : {}),
  };
}

/** The hash ignores how a response is sent, because that does not change its content. */
function hashOf(fields: Fields): string {
  const covered = Object.entries(fields).filter(([name]) => name !== 'stream' && name !== 'stream_options');
  return createHash('sha256')
    .update(canonicalJson(Object.fromEntries(covered)))
    .digest('hex');
}

type GivenMessage = CompletionBody['messages'][number];
type GivenContent = GivenMessage['content'];

/** Converts the messages of a body. Drops user and system messages without content. Pure. */
function toMessages(given: readonly GivenMessage[]): readonly ChatMessage[] {
  return given.flatMap((message): readonly ChatMessage[] => {
    if (message.role === 'tool') {
      return [{ role: 'tool', tool_call_id: message.tool_call_id, content: textOf(message.content) ?? '' }];
    }
    const name = typeof message.name === 'string' && message.name !== '' ? { name: message.name } : {};
    if (message.role === 'assistant') {
      const calls = message.tool_calls ?? [];
      const content = textOf(message.content);
      return [{ role: 'assistant', content, ...name, ...(calls.length > 0 && { tool_calls: calls }) }];
    }
    const content = contentOf(message.content);
    if (content === null) return [];
    return [{ role: message.role === 'user' ? 'user' : 'system', content, ...name }];
  });
}

/** The content of a model or a tool is text, in any number of pieces. */
function textOf(content: GivenContent): string | null {
  if (typeof content === 'string') return content;
  if (content === null || content === undefined) return null;
  return content
    .map((part) => (part.type === 'text' ? part.text : part.type === 'refusal' ? part.refusal : ''))
    .join('');
}

function contentOf(content: GivenContent): MessageContent | null {
  if (typeof content === 'string') return content;
  if (content === null || content === undefined) return null;
  return content.map((part): ContentPart => {
    if (part.type === 'text') return part;
    if (part.type === 'refusal') return { type: 'text', text: part.refusal };
    if (part.type === 'file') return { type: 'file', file: withoutNulls(part.file) };
    const { url, detail } = part.image_url;
    return { type: 'image_url', image_url: { url, ...(typeof detail === 'string' ? { detail } : {}) } };
  });
}

function withoutNulls(members: Readonly<Record<string, string | null | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(members).filter((entry): entry is [string, string] => entry[1] != null));
}
