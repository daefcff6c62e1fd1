import type { Clock, Secret } from '#platform';

/** A piece of a message's content, as OpenAI's chat completions define them; pieces we do not know pass through untouched. */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string; readonly detail?: string } }
  | { readonly type: 'input_audio'; readonly input_audio: { readonly data: string; readonly format: string } }
  | { readonly type: 'file'; readonly file: Readonly<Record<string, unknown>> };

/** The content of a message from a person, a tool or a prompt: plain text, or parts. */
export type MessageContent = string | readonly ContentPart[];

/** A tool call inside an assistant message, in the provider's own shape. `arguments` is JSON text as the model wrote it. */
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
  /** Null when the message consists of tool calls only. */
  readonly content: MessageContent | null;
  readonly name?: string;
  readonly tool_calls?: readonly MessageToolCall[];
}

export interface ToolMessage {
  readonly role: 'tool';
  readonly tool_call_id: string;
  readonly content: MessageContent;
}

/** One entry of the conversation that a provider reads, in OpenAI's shape (role and snake_case members). */
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

/** Sampling fields; all are passed on as they are, also those a provider added itself. Ours (`stream`, `messages` …) win. */
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
  /** What the model may ask for; absent or empty offers nothing, and then `toolChoice` is not sent. */
  readonly tools?: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice;
  readonly parameters?: ModelParameters;
  /** A person asked for this request: it is sent although requests to the provider are paused. */
  readonly evenIfPaused?: boolean;
  /** Called for every event of the stream, also when it yields no part yet, such as a piece of a tool call's arguments. Must not throw. */
  readonly onData?: () => void;
}

/** A call the model asked for, complete. */
export interface RequestedCall {
  /** Non-empty and unique in the response. Generated here if the provider omitted or repeated it. */
  readonly callId: string;
  /** As the model wrote it; may be empty or unknown, which is for the caller to answer. */
  readonly name: string;
  /** JSON text as the model wrote it: may be invalid. An empty one is handed on as `{}`. */
  readonly arguments: string;
}

/** Token counts, whole numbers >= 0. `estimated` when the provider sent none that can be believed and we counted characters. */
export interface ModelUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
  readonly estimated: boolean;
}

/** Why the model stopped. `tool_calls` if there are any, even if the provider gave another reason; `other` for unknown reasons. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other';

/** A part of a response, in the order of the stream. Text is never empty, contains no NUL and never half of a surrogate pair. */
export type ModelPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'tool-calls'; readonly calls: readonly RequestedCall[] }
  | { readonly type: 'finish'; readonly finishReason: FinishReason; readonly usage: ModelUsage };

/**
 * A model that responds to a conversation with a stream. One implementation talks to OpenAI-compatible servers; each further
 * implementation must pass `test/contracts/model.contract.ts`.
 *
 * Promises:
 * - Each batch holds the parts of one read of the socket, never none. `tool-calls` comes at most once, assembled, after all
 *   text; `finish` comes exactly once and last. A stream that ends without `finish` has thrown.
 * - Every failure is a `ModelError`; its `afterFirstByte` shows whether parts may have been seen. The caller
 *   retries: a job emits events for it, and releases its slot for long waits. A partial answer is never handed over as a complete one.
 * - When `signal` aborts, the iteration throws the signal's reason at once and the connection is freed; so it is when the
 *   consumer leaves the loop early. Each call of `stream` is one independent model call; the iterable is read once.
 */
export interface Model {
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<readonly ModelPart[]>;
}

/** Where a model call goes. */
export interface ModelTarget {
  /** http(s), the part before `/chat/completions`; a trailing slash does not matter. */
  readonly baseUrl: string;
  /** Sent as `Authorization: Bearer`; null sends no such header. */
  readonly apiKey: Secret | null;
}

/** Caps on what a provider may send in one answer; over any of them the call ends with `model_answer_too_large`. */
export interface ModelLimits {
  /** Bytes of one line of the stream. Default 8 MiB. */
  readonly maxLineBytes: number;
  /** Bytes of the whole stream, framing included. Default 64 MiB. */
  readonly maxStreamBytes: number;
  /** UTF-16 units of the arguments of one tool call. Default 4 MiB; the tool's own, smaller cap is checked later. */
  readonly maxArgumentsLength: number;
  /** Tool calls of one answer. Default 1,000; the round's own, smaller cap is applied later. */
  readonly maxToolCalls: number;
}

/** How a model call waits and gives up. Times in ms. */
export interface ModelOptions {
  readonly clock: Clock;
  /** From sending to the first byte of the body. Default 60,000. */
  readonly firstByteTimeoutMs?: number;
  /** Between two reads of the body; while the consumer holds a batch the time does not run. Default 30,000. */
  readonly idleTimeoutMs?: number;
  readonly limits?: Partial<ModelLimits>;
}
