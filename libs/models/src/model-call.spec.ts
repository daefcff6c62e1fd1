import { setImmediate } from 'node:timers/promises';

import { expect, it } from '@jest/globals';

import { ManualClock, systemClock } from '#platform';

import { ModelCall } from './model-call.js';

const piece = (text: string) => Buffer.from(`data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`);
const finish = Buffer.from(`data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: 'stop' }] })}\n\n`);

/** A connection as undici's: what waits behind a pause comes before `resume` returns, and so does the end. */
class Connection {
  paused = false;
  aborted = false;
  reason: Error | null = null;

  constructor(
    private readonly call: ModelCall,
    private readonly reads: Buffer[],
  ) {}

  private get flows(): boolean {
    return !this.paused && !this.aborted;
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    while (this.flows) {
      const bytes = this.reads.shift();
      if (bytes === undefined) {
        this.call.onResponseEnd();
        return;
      }
      this.call.onResponseData(this, bytes);
    }
  }

  abort(reason: Error): void {
    this.aborted = true;
    this.reason = reason;
  }
}

it('a model call yields a whole response whose end arrives while the reader is behind', async () => {
  const pieces = Array.from({ length: 40 }, (_, i) => `${i} `.repeat(20_000));
  const bytes = Buffer.concat([...pieces.map(piece), finish]);
  const reads: Buffer[] = [];
  // Cut anywhere, as networks do.
  for (let at = 0; at < bytes.length; at += 65_521) reads.push(bytes.subarray(at, at + 65_521));
  const call = new ModelCall({
    ...{ clock: systemClock, signal: new AbortController().signal, apiKey: null },
    ...{ firstByteTimeoutMs: 60_000, idleTimeoutMs: 60_000, newCallId: () => 'call_1', promptLength: 0 },
    limits: { maxLineBytes: 1_000_000, maxStreamBytes: 10_000_000, maxArgumentsLength: 1_000, maxToolCalls: 1 },
  });
  const connection = new Connection(call, reads);
  call.onRequestStart(connection);
  call.onResponseStart(connection, 200, { 'content-type': 'text/event-stream' });
  connection.resume();

  let text = '';
  for (let parts = await call.next(); parts !== undefined; parts = await call.next()) {
    text += parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  }
  call.release();
  expect(text === pieces.join('')).toBe(true);
});

it('a model call reports each piece of tool arguments as data, and no keep-alive comment', async () => {
  let data = 0;
  const call = new ModelCall({
    ...{ clock: systemClock, signal: new AbortController().signal, apiKey: null },
    ...{ firstByteTimeoutMs: 60_000, idleTimeoutMs: 60_000, newCallId: () => 'call_1', promptLength: 0 },
    limits: { maxLineBytes: 1_000_000, maxStreamBytes: 10_000_000, maxArgumentsLength: 1_000, maxToolCalls: 1 },
    onData: () => {
      data += 1;
    },
  });
  const argumentsPiece = (text: string) => {
    const toolCall = { index: 0, id: 'c1', function: { name: 'search', arguments: text } };
    return Buffer.from(`data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [toolCall] } }] })}\n\n`);
  };
  const comment = Buffer.from(': still working\n\n');
  const connection = new Connection(call, [argumentsPiece('{"q":'), comment, argumentsPiece('"x"}'), comment, finish]);
  call.onRequestStart(connection);
  call.onResponseStart(connection, 200, { 'content-type': 'text/event-stream' });
  connection.resume();

  const parts = await call.next();
  call.release();
  expect(parts?.map(({ type }) => type)).toEqual(['tool-calls', 'finish']);
  expect(data).toBe(3);
});

it('ends a stream whose bytes complete no line for the idle timeout, but not one with comments', async () => {
  const clock = new ManualClock();
  const call = new ModelCall({
    ...{ clock, signal: new AbortController().signal, apiKey: null },
    ...{ firstByteTimeoutMs: 60_000, idleTimeoutMs: 1_000, newCallId: () => 'call_1', promptLength: 0 },
    limits: { maxLineBytes: 1_000_000, maxStreamBytes: 10_000_000, maxArgumentsLength: 1_000, maxToolCalls: 1 },
  });
  const connection = new Connection(call, []);
  call.onRequestStart(connection);
  call.onResponseStart(connection, 200, { 'content-type': 'text/event-stream' });
  const arrives = async (text: string) => {
    call.onResponseData(connection, Buffer.from(text));
    await setImmediate();
    clock.advance(600);
    await setImmediate();
  };
  const parts = call.next().catch((error: unknown) => error);
  for (let i = 0; i < 4; i++) await arrives(': still working\n\n');
  expect(connection.aborted).toBe(false);
  for (const byte of 'data') await arrives(byte);
  expect(connection.aborted).toBe(true);
  expect(await parts).toMatchObject({ code: 'model_timeout' });
});

it('copies the bytes of a document, so that a chunk of one byte takes one byte of memory', async () => {
  const call = new ModelCall({
    ...{ clock: systemClock, signal: new AbortController().signal, apiKey: null },
    ...{ firstByteTimeoutMs: 60_000, idleTimeoutMs: 60_000, newCallId: () => 'call_1', promptLength: 0 },
    limits: { maxLineBytes: 1_000, maxStreamBytes: 10_000, maxArgumentsLength: 1_000, maxToolCalls: 1 },
  });
  const connection = new Connection(call, []);
  call.onRequestStart(connection);
  call.onResponseStart(connection, 200, { 'content-type': 'application/json' });
  const chunk = Buffer.alloc(1);
  const document = JSON.stringify({ choices: [{ message: { content: 'Grüße' }, finish_reason: 'stop' }] });
  for (const byte of Buffer.from(document)) {
    chunk[0] = byte;
    call.onResponseData(connection, chunk);
  }
  call.onResponseEnd();

  const parts = await call.next();
  call.release();
  expect(parts?.[0]).toEqual({ type: 'text', text: 'Grüße' });
});
