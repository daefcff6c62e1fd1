import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A call that the model requests. */
export interface ScriptedCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** How the model responds to one request: with text, or with calls of tools. */
export type ScriptedReply = string | readonly ScriptedCall[];

/** A request of the server to the model. */
export interface ModelRequest {
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  readonly tools?: readonly Readonly<Record<string, unknown>>[];
  readonly [field: string]: unknown;
}

/**
 * A model that returns the responses of a script, in order. Without one, it repeats the results of the tools, or the message of the user.
 * It implements the HTTP protocol of OpenAI-compatible providers.
 */
export class ScriptedModel {
  readonly requests: ModelRequest[] = [];
  private readonly replies: ScriptedReply[] = [];
  private calls = 0;

  private constructor(private readonly server: Server) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.respond(request, response).catch((error: unknown) => {
        response.destroy(error instanceof Error ? error : undefined);
      });
    });
  }

  static async start(): Promise<ScriptedModel> {
    const server = createServer();
    const model = new ScriptedModel(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return model;
  }

  /** The base URL for MODEL_BASE_URL. */
  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`; // it listens on TCP
  }

  /** Adds responses for the next requests. */
  reply(...replies: readonly ScriptedReply[]): void {
    this.replies.push(...replies);
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => {
        resolve();
      });
      this.server.closeAllConnections();
    });
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ object: 'list', data: [{ id: 'scripted', object: 'model' }] }));
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer); // the request has no encoding set
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as ModelRequest;
    this.requests.push(body);
    const reply = this.replies.shift() ?? lastText(body);
    response.setHeader('content-type', 'text/event-stream');
    for (const choice of this.choicesOf(reply)) response.write(toLine({ choices: [{ index: 0, ...choice }] }));
    response.write(toLine({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }));
    response.end('data: [DONE]\n\n');
  }

  private choicesOf(reply: ScriptedReply): readonly object[] {
    if (typeof reply === 'string')
      return [
        { delta: { role: 'assistant', content: reply }, finish_reason: null },
        { delta: {}, finish_reason: 'stop' },
      ];
    const calls = reply.map(({ name, arguments: args }, index) => ({
      ...{ index, id: `call_${++this.calls}`, type: 'function' },
      function: { name, arguments: JSON.stringify(args) },
    }));
    return [
      { delta: { role: 'assistant', tool_calls: calls }, finish_reason: null },
      { delta: {}, finish_reason: 'tool_calls' },
    ];
  }
}

function toLine(fields: object): string {
  const envelope = { id: 'chatcmpl-scripted', object: 'chat.completion.chunk', created: 0, model: 'scripted' };
  return `data: ${JSON.stringify({ ...envelope, ...fields })}\n\n`;
}

function lastText({ messages }: ModelRequest): string {
  const content = messages.at(-1)?.['content'];
  return typeof content === 'string' ? content : JSON.stringify(content ?? '');
}
