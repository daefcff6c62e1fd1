import type { Clock, Secret } from '#platform';

/** A piece of a message's content, as OpenAI's chat completions define it. Pieces of unknown types are sent unchanged. */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string; readonly detail?: string } }
  | { readonly type: 'input_audio'; readonly input_audio: { readonly data: string; readonly format: string } }
  | { readonly type: 'file'; readonly file: Readonly<Record<string, unknown>> };

/** The content of a message from a person, a tool or a prompt: plain text, or parts. */
export type MessageContent = string | readonly ContentPart[];

/** A tool call in an assistant message, in the provider's format. `arguments` is JSON text as the model wrote it. */
export interface MessageToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

export interface SystemMessage {
  readonly role: 'system';
  readonly content: MessageContent;
  readonly name?: string;
}

export interface UserMessage {
  readonly role: 'user';
  readonly content: MessageContent;
  readonly name?: string;
}

export interface AssistantMessage {
  readonly role: 'assistant';
  /** Null if the message consists of tool calls only. */
  readonly content: MessageContent | null;
  readonly name?: string;
  readonly tool_calls?: readonly MessageToolCall[];
}

export interface ToolMessage {
  readonly role: 'tool';
  readonly tool_call_id: string;
  readonly content: MessageContent;
}

/** One entry of the conversation that a provider reads, in OpenAI's format (role and snake_case members). */
export type ChatMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** A tool as it is offered to the model; `parameters` is a JSON Schema. */
export interface ToolDefinition {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters?: Readonly<Record<string, unknown>>;
    readonly strict?: boolean;
  };
}

export type ToolChoice =
  'auto' | 'none' | 'required' | { readonly type: 'function'; readonly function: { readonly name: string } };

/**
 * Sampling fields. All are sent unchanged, also unknown ones of a provider. Fields that this client sets (`stream`, `messages` …) take precedence.
 */
export interface ModelParameters {
  readonly temperature?: number;
  readonly top_p?: number;
  readonly max_tokens?: number;
  readonly max_completion_tokens?: number;
  readonly seed?: number;
  readonly stop?: string | readonly string[];
  readonly presence_penalty?: number;
  readonly frequency_penalty?: number;
  readonly parallel_tool_calls?: boolean;
  readonly response_format?: Readonly<Record<string, unknown>>;
  readonly reasoning_effort?: string;
  readonly [field: string]: unknown;
}

/** One model call. */
export interface ModelRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  /** The tools that the model may call. If absent or empty, no tool is offered and `toolChoice` is not sent. */
  readonly tools?: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice;
  readonly parameters?: ModelParameters;
  /** A person asked for this request: it is sent even if requests to the provider are paused. */
  readonly evenIfPaused?: boolean;
  /** Called for every event of the stream, also when it yields no part yet, such as a piece of a tool call's arguments. Must not throw. */
  readonly onData?: () => void;
}

/** Longer arguments of a call (in UTF-8 bytes) are neither stored nor run, so they need not be parsed either. */
export const MAX_ARGUMENT_BYTES = 65_536;

/** A complete call that the model requested. */
export interface RequestedCall {
  /** Non-empty and unique in the response. Generated here if the provider omitted or repeated it. */
  readonly callId: string;
  /** The name as the model wrote it. It may be empty or unknown; the caller handles that. */
  readonly name: string;
  /** JSON text as the model wrote it; it may be invalid. An empty text becomes `{}`. */
  readonly arguments: string;
}

/** Token counts, whole numbers >= 0. `estimated`: the provider sent no plausible counts, so they are estimated from the number of characters. */
export interface ModelUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
  readonly estimated: boolean;
}

/** Why the model stopped. `tool_calls` if there are any, even if the provider gave another reason; `other` for unknown reasons. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other';

/** A part of a response, in the order of the stream. Text is never empty, and contains no NUL and no half of a surrogate pair. */
export type ModelPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'tool-calls'; readonly calls: readonly RequestedCall[] }
  | { readonly type: 'finish'; readonly finishReason: FinishReason; readonly usage: ModelUsage };

/**
 * A model that responds to a conversation with a stream. One implementation calls OpenAI-compatible servers. Every other implementation
 * must pass `test/contracts/model.contract.ts`.
 *
 * Promises:
 * - A batch has at least one part. It may cover several reads of the socket, or a piece of one. `tool-calls` comes at most once, with complete
 *   calls, after all text. `finish` comes exactly once, as the last part; a stream without it throws.
 * - However fast the server sends, other work of the process runs every few milliseconds, except while one long line is read.
 * - Every failure is a `ModelError`. Its `afterFirstByte` is true if the consumer may have received parts. The caller retries: a job emits
 *   events for a retry, and releases its slot for a long wait. The model never presents a partial response as complete.
 * - If `signal` aborts, the iteration throws the signal's reason at once and frees the connection. Leaving the loop early frees it too.
 *   Each call of `stream` is a separate model call, and its iterable can be read once.
 */
export interface Model {
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<readonly ModelPart[]>;
}

/** The endpoint of a model call. */
export interface ModelTarget {
  /** http(s), the part before `/chat/completions`, with or without a trailing slash. */
  readonly baseUrl: string;
  /** Sent as `Authorization: Bearer`; null sends no such header. */
  readonly apiKey: Secret | null;
}

/** Limits of what a provider may send in one response. If one is exceeded, the call ends with `model_answer_too_large`. */
export interface ModelLimits {
  /** Bytes of one line of the stream, or of a response that is one JSON document. Default 8 MiB. */
  readonly maxLineBytes: number;
  /** Bytes of the whole stream, framing included. Default 64 MiB. */
  readonly maxStreamBytes: number;
  /** UTF-16 units of the names and arguments of all tool calls of one response. Default 2,097,152. The smaller limit of one call is checked later. */
  readonly maxArgumentsLength: number;
  /** Tool calls of one response. Default 1,000. The round's own, smaller limit is applied later. */
  readonly maxToolCalls: number;
}

/** Timeouts of a model call, in ms. */
export interface ModelOptions {
  readonly clock: Clock;
  /** From sending to the first byte of the body. Default 60,000. */
  readonly firstByteTimeoutMs?: number;
  /** Between two reads of the body, without the time that the consumer needs for a batch. Default 30,000. */
  readonly idleTimeoutMs?: number;
  readonly limits?: Partial<ModelLimits>;
}
