import type { ChatMessage, ModelParameters, ToolChoice, ToolDefinition } from '#models';

/** What a body of `POST /v1/chat/completions` says, once it is known to be one. */
export interface CompletionRequest {
  readonly model: string;
  /** As sent: blocks of tool calls are still in them, and they may not be valid for a provider. `developer` is `system`. */
  readonly messages: readonly ChatMessage[];
  /** Functions of the client. */
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice: ToolChoice | null;
  /** Sampling fields for the provider. */
  readonly parameters: ModelParameters;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Kept with the answer; says nothing of who asks. */
  readonly about: RequestNotes;
  /** Names of fields that mean nothing here. */
  readonly ignored: readonly string[];
  /** SHA-256 (hex) of the body without `stream` and `stream_options`. */
  readonly bodyHash: string;
}

/** What a client notes down about its request. */
export interface RequestNotes {
  readonly user?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly store?: boolean;
}

/** Reads a body. Throws `OpenAiError`, and nothing else. Pure. */
export function parseCompletionRequest(body: unknown): CompletionRequest {
  throw new Error(`not read yet: ${typeof body}`);
}
