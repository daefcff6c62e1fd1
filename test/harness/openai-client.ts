import { type ClientRequest, type IncomingMessage, request } from 'node:http';

type Json = Readonly<Record<string, unknown>>;

/** The response to a request to `/v1/chat/completions`. */
export interface CompletionReply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** As it came over the wire. */
  readonly text: string;
  readonly json: Json;
}

/** An open request. */
export interface OpenCompletion {
  /** Resolves with status and headers. */
  readonly begun: Promise<IncomingMessage>;
  /** Resolves with the whole response; `complete`: it was not cut off. */
  readonly over: Promise<CompletionReply & { readonly complete: boolean }>;
  readonly raw: () => string;
  /** Resolves once `text` has arrived. */
  until(text: string): Promise<void>;
  pause(): void;
  resume(): void;
  /** Destroys the connection. */
  leave(): void;
}

export interface CompletionsClient {
  /** Sends a request and reads the whole response. */
  ask(body: unknown, headers?: Readonly<Record<string, string>>): Promise<CompletionReply>;
  open(body: unknown, headers?: Readonly<Record<string, string>>): OpenCompletion;
}

/** A plain HTTP client. */
export function completionsClient(url: string, key: string | null, path = '/v1/chat/completions'): CompletionsClient {
  const open: CompletionsClient['open'] = (body, headers = {}) => {
    const sent = request(`${url}${path}`, {
      method: 'POST',
      agent: false,
      headers: {
        'content-type': 'application/json',
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...headers,
      },
    });
    sent.end(typeof body === 'string' ? body : JSON.stringify(body));
    return follow(sent);
  };
  return { open, ask: (body, headers) => open(body, headers).over };
}

function follow(sent: ClientRequest): OpenCompletion {
  let raw = '';
  let isOver = false;
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const check of waiting) check();
  };
  const begun = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', resolve);
    sent.once('error', reject);
  });
  const over = begun.then(
    (response) =>
      new Promise<CompletionReply & { complete: boolean }>((resolve) => {
        response.setEncoding('utf8');
        response.on('data', (text: string) => {
          raw += text;
          wake();
        });
        response.on('error', () => undefined);
        response.on('close', () => {
          isOver = true;
          wake();
          const { statusCode: status = 0, headers, complete } = response;
          resolve({ status, headers, text: raw, json: parse(raw), complete });
        });
      }),
  );
  over.catch(() => undefined);
  return {
    begun,
    over,
    raw: () => raw,
    until: (text) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (!raw.includes(text) && !isOver) return;
          waiting.delete(check);
          if (raw.includes(text)) resolve();
          else reject(new Error(`it ended without ${text}, after ${raw.slice(-500)}`));
        };
        waiting.add(check);
        check();
      }),
    pause: () => void begun.then((response) => response.pause()),
    resume: () => void begun.then((response) => response.resume()),
    leave: () => sent.destroy(),
  };
}

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json; // replies are objects
  } catch {
    return {};
  }
}

/** The `data` lines of a stream, parsed; the last one is `[DONE]`. */
export function chunksOf(text: string): readonly Json[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('data: ') || line === 'data: [DONE]') return [];
    return [JSON.parse(line.slice(6)) as Json]; // each is a chunk
  });
}

/** The text of a stream. */
export function contentOf(text: string): string {
  return chunksOf(text)
    .map((chunk) => (chunk['choices'] as { delta?: { content?: string } }[])[0]?.delta?.content ?? '')
    .join('');
}
