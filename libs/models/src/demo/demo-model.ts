import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { type Clock, systemClock } from '#platform';

import { answerByRules, type DemoRequest, demoRequest, type DemoResponse } from './demo-response.js';
import { DEMO_MODEL_NAME } from './demo-rules.js';

const MAX_BODY_BYTES = 16_777_216;

/** The options of the demo model. */
export interface DemoModelOptions {
  /** Default 0: any free port. The server listens on loopback only. */
  readonly port?: number;
  /** Delay before each chunk of text, so that viewers see the text grow. Default 15; 0 sends all text at once. */
  readonly chunkDelayMs?: number;
  readonly clock?: Clock;
}

/** A running demo model. */
export interface DemoModel {
  /** Base URL for `MODEL_BASE_URL`. */
  readonly url: string;
  readonly modelName: string;
  /** Aborts the responses in progress and frees the port. */
  close(): Promise<void>;
}

/**
 * Starts the demo model: an HTTP server on loopback that speaks OpenAI's protocol (`POST /v1/chat/completions`, streaming or not, `GET /v1/models`)
 * and responds by rules, so that users can try all features without a key. It accepts any key and any model name, and identifies itself in each
 * response. Throws if the port is in use.
 */
export async function startDemoModel(options: DemoModelOptions = {}): Promise<DemoModel> {
  const { port = 0, chunkDelayMs = 15, clock = systemClock } = options;
  const handler = new DemoHandler(chunkDelayMs, clock);
  const server = createServer((request, response) => {
    handler.serve(request, response).catch(() => response.destroy()); // the client disconnected, or aborted its request
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: taken } = server.address() as AddressInfo; // the server listens on TCP
  return { url: `http://127.0.0.1:${taken}/v1`, modelName: DEMO_MODEL_NAME, close: () => close(server) };
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

class DemoHandler {
  constructor(
    private readonly chunkDelayMs: number,
    private readonly clock: Clock,
  ) {}

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '')
      .split('?')[0]
      ?.replace(/^\/v1(?=\/)/, '')
      .replace(/\/$/, '');
    if (path === '/models' && request.method === 'GET') {
      const model = { id: DEMO_MODEL_NAME, object: 'model', created: 0, owned_by: 'nightshift' };
      sendJson(response, 200, { object: 'list', data: [model] });
    } else if (path !== '/chat/completions') sendError(response, 404, { message: 'Unknown request URL.' });
    else if (request.method !== 'POST') sendError(response, 405, { message: 'Use POST.' });
    else await this.answer(request, response);
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    if (body === undefined) {
      sendError(response, 413, { message: 'The request is too large.' });
      return;
    }
    const parsed = demoRequest.safeParse(parseJson(body));
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      const param = issue?.path.join('.') ?? '';
      sendError(response, 400, { message: `Invalid request: ${param} ${issue?.message ?? ''}`, param });
      return;
    }
    const wire = new DemoResponseWriter(parsed.data, answerByRules(parsed.data), this.clock.now());
    if (parsed.data.stream === true) await this.stream(response, wire);
    else sendJson(response, 200, wire.whole());
  }

  private async stream(response: ServerResponse, wire: DemoResponseWriter): Promise<void> {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    for (const chunk of wire.chunks()) {
      if (this.chunkDelayMs > 0) await this.pause(response);
      if (response.destroyed) return;
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    }
    response.end('data: [DONE]\n\n');
  }

  /** Ends early if the client disconnects. */
  private async pause(response: ServerResponse): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const wake = () => {
      resolve(undefined);
    };
    const timer = this.clock.after(this.chunkDelayMs, wake);
    response.once('close', wake);
    await promise;
    response.off('close', wake);
    timer.cancel();
  }
}

/** Returns undefined if the body is too large. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function sendError(
  response: ServerResponse,
  status: number,
  error: { readonly message: string; readonly param?: string },
): void {
  sendJson(response, status, { error: { type: 'invalid_request_error', param: null, code: null, ...error } });
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

const CHARACTERS_PER_TOKEN = 4;

interface WireCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

/** One response in OpenAI's formats: whole, or as the chunks of a stream. */
export class DemoResponseWriter {
  private readonly id = `chatcmpl-${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  private readonly calls: readonly WireCall[];
  private readonly created: number;

  constructor(
    private readonly request: DemoRequest,
    private readonly answer: DemoResponse,
    nowMs: number,
  ) {
    this.created = Math.floor(nowMs / 1_000);
    this.calls = answer.calls.map((call) => ({
      id: `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.arguments) },
    }));
  }

  /** The response to a request without `stream`. */
  whole(): object {
    const message = { role: 'assistant', content: this.answer.text === '' ? null : this.answer.text, refusal: null };
    return {
      ...this.envelope('chat.completion'),
      choices: [
        {
          index: 0,
          message: this.calls.length === 0 ? message : { ...message, tool_calls: this.calls },
          logprobs: null,
          finish_reason: this.finishReason,
        },
      ],
      usage: this.usage(),
    };
  }

  /** The chunks of a stream, in order, with one word of text each. The caller sends `[DONE]`. */
  *chunks(): Generator<object> {
    yield this.chunk({ role: 'assistant', content: this.calls.length === 0 ? '' : null });
    for (const text of this.answer.text.match(/\s*\S+|\s+$/g) ?? []) yield this.chunk({ content: text });
    for (const [index, call] of this.calls.entries()) {
      const { name, arguments: text } = call.function;
      yield this.chunk({ tool_calls: [{ index, ...call, function: { name, arguments: '' } }] });
      yield this.chunk({ tool_calls: [{ index, function: { arguments: text } }] });
    }
    yield this.chunk({}, this.finishReason);
    if (this.request.stream_options?.include_usage === true) {
      yield { ...this.envelope('chat.completion.chunk'), choices: [], usage: this.usage() };
    }
  }

  private get finishReason(): 'stop' | 'tool_calls' {
    return this.calls.length === 0 ? 'stop' : 'tool_calls';
  }

  private chunk(delta: object, finishReason: string | null = null): object {
    return {
      ...this.envelope('chat.completion.chunk'),
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
    };
  }

  private envelope(object: string): object {
    return { id: this.id, object, created: this.created, model: DEMO_MODEL_NAME };
  }

  private usage(): object {
    const tokens = (value: unknown) => Math.ceil(JSON.stringify(value).length / CHARACTERS_PER_TOKEN);
    const prompt_tokens = tokens(this.request.messages);
    const completion_tokens = tokens(this.calls.length === 0 ? this.answer.text : this.calls);
    return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
  }
}
