/** Stops a reply until the test opens it. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function createGate(): Gate {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  return {
    opened: promise.then(() => undefined),
    open: () => {
      resolve(undefined);
    },
  };
}

/** One piece of a reply's body: bytes that travel as one HTTP chunk, a gate, or a pause. */
export type ReplyPiece = string | Buffer | Gate | { readonly delayMs: number };

/** How the scripted model answers one request. `end`: properly, by destroying the socket, or never. */
export interface Reply {
  /** Opened before even the status line is sent. */
  readonly before?: Gate;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: readonly ReplyPiece[];
  readonly end?: 'clean' | 'destroy' | 'hang';
}

export interface ScriptedUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

export interface ScriptedCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

export const defaultUsage: ScriptedUsage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

/** The envelope all chunks of a scripted answer share. */
const envelope = {
  id: 'chatcmpl-scripted',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'scripted',
};

/** `data: <json>` and the blank line; strings go as they are. */
export function dataLine(payload: unknown): string {
  return `data: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}\n\n`;
}

export function deltaChunk(delta: unknown, finishReason: string | null = null): string {
  return dataLine({ ...envelope, choices: [{ index: 0, delta, finish_reason: finishReason }] });
}

export function textChunk(text: string): string {
  return deltaChunk({ content: text });
}

/** Fragments of calls, as the provider at hand would send them. */
export function callChunk(...fragments: readonly unknown[]): string {
  return deltaChunk({ tool_calls: fragments });
}

export function finishChunk(reason: string): string {
  return deltaChunk({}, reason);
}

export function usageChunk(usage: unknown): string {
  return dataLine({ ...envelope, choices: [], usage });
}

export const doneLine = dataLine('[DONE]');

/** A whole answer of text: role, one chunk per text, finish reason, usage, `[DONE]`. `delayMs` passes before each text. */
export function textReply(
  texts: readonly string[],
  options: { readonly delayMs?: number; readonly usage?: ScriptedUsage | null; readonly finishReason?: string } = {},
): Reply {
  const { delayMs = 0, usage = defaultUsage, finishReason = 'stop' } = options;
  const pause: readonly ReplyPiece[] = delayMs > 0 ? [{ delayMs }] : [];
  return {
    body: [
      deltaChunk({ role: 'assistant', content: '' }),
      ...texts.flatMap((text) => [...pause, textChunk(text)]),
      finishChunk(finishReason),
      ...(usage === null ? [] : [usageChunk(usage)]),
      doneLine,
    ],
  };
}

/** A whole answer that asks for tools, well-behaved: id and name first, then the arguments. */
export function toolCallReply(
  calls: readonly ScriptedCall[],
  options: { readonly text?: string; readonly usage?: ScriptedUsage | null } = {},
): Reply {
  const { text = '', usage = defaultUsage } = options;
  const fragments = calls.flatMap((call, index) => [
    callChunk({ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }),
    callChunk({ index, function: { arguments: call.arguments } }),
  ]);
  return {
    body: [
      deltaChunk({ role: 'assistant', content: text }),
      ...fragments,
      finishChunk('tool_calls'),
      ...(usage === null ? [] : [usageChunk(usage)]),
      doneLine,
    ],
  };
}

/** A response that is not a stream: a status, headers, and OpenAI's error envelope or any other body. */
export function errorReply(
  status: number,
  body: unknown = { error: { message: 'scripted failure' } },
  headers: Readonly<Record<string, string>> = {},
): Reply {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: [typeof body === 'string' ? body : JSON.stringify(body)],
  };
}
