/**
 * The peer of the OpenAI endpoint, in its own process: a proxy as people build it with the AI SDK. It receives a chat completion,
 * calls the model through `streamText`, and streams the text as chunks. It stores nothing.
 * `--model-url URL`. Prints {"url"} as one line on stdout.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { parseArgs } from 'node:util';

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type ModelMessage, streamText } from 'ai';

const { values } = parseArgs({ options: { 'model-url': { type: 'string', default: '' } } });
const provider = createOpenAICompatible({ name: 'scripted', baseURL: values['model-url'] });

async function complete(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = (await json(request)) as { model: string; messages: ModelMessage[] }; // the bench sends it
  const head = { id: `chatcmpl-${Date.now()}`, object: 'chat.completion.chunk', created: 0, model: body.model };
  const write = (delta: object, finishReason: string | null): void => {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finishReason }];
    response.write(`data: ${JSON.stringify({ ...head, choices })}\n\n`);
  };
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  write({ role: 'assistant', content: '' }, null);
  const { textStream } = streamText({ model: provider(body.model), messages: body.messages });
  for await (const content of textStream) write({ content }, null);
  write({}, 'stop');
  response.end('data: [DONE]\n\n');
}

const server = createServer((request, response) => {
  complete(request, response).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo; // it listens on TCP
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}/v1` })}\n`);
});
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
