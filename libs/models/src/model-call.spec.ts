import { setImmediate } from 'node:timers/promises';

import { expect, it } from '@jest/globals';

import { ManualClock, systemClock } from '#platform';

import { ModelCall } from './model-call.js';
import { StreamTurns } from './stream-turns.js';

const piece = (text: string) => Buffer.from(`data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`);
const finish = Buffer.from(`data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: 'stop' }] })}\n\n`);

/** Behaves like a connection of undici: `resume` delivers all waiting bytes, and the end, before it returns. */
class Connection {
  paused = false;
  aborted = false;
  reason: Error | null = null;

  constructor(
    private readonly call: ModelCall,
    private readonly reads: Buffer[],
  ) {}

  /** The number of reads that the call has not received. */
  get left(): number {
    return this.reads.length;
  }

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

it('a model call ends a stream whose bytes complete no line for the idle timeout, but not one with comments', async () => {
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

it('a model call copies the bytes of a document, so that a chunk of one byte takes one byte of memory', async () => {
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

/** A call that reads a stream, and whose process has time for five slices of 32,768 bytes in a turn of the event loop. */
function slowCall(reads: Buffer[], signal = new AbortController().signal) {
  let now = 0;
  const call = new ModelCall({
    ...{ clock: systemClock, signal, apiKey: null, turns: new StreamTurns({ monotonic: () => now++ }) },
    ...{ firstByteTimeoutMs: 60_000, idleTimeoutMs: 60_000, newCallId: () => 'call_1', promptLength: 0 },
    limits: { maxLineBytes: 1_000_000, maxStreamBytes: 10_000_000, maxArgumentsLength: 1_000, maxToolCalls: 1 },
  });
  const connection = new Connection(call, reads);
  call.onRequestStart(connection);
  call.onResponseStart(connection, 200, { 'content-type': 'text/event-stream' });
  return { call, connection };
}

async function readText(call: ModelCall, onText: (length: number) => void = () => undefined): Promise<string> {
  let text = '';
  for (let parts = await call.next(); parts !== undefined; parts = await call.next()) {
    text += parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    onText(text.length);
  }
  return text;
}

/** 1.2 MB in 20 reads. */
const manyReads = () => Array.from({ length: 20 }, () => piece('x'.repeat(60_000)));

it('a model call lets other work of the process run before all bytes that wait are decoded', async () => {
  const { call, connection } = slowCall([...manyReads(), finish]);
  connection.resume();
  let length = 0;
  const other = setImmediate().then(() => length);
  const text = await readText(call, (read) => {
    length = read;
  });
  call.release();

  expect(await other).toBeGreaterThan(0);
  expect(await other).toBeLessThan(text.length);
  expect(text).toHaveLength(1_200_000);
});

it.each(['\r', '\n', ': c\n', 'event: x\n'])(
  'a model call lets other work run while it reads only lines of %j',
  async (line) => {
    const lines = Buffer.from(line.repeat(65_536 / line.length));
    const { call, connection } = slowCall([...Array.from({ length: 40 }, () => lines), finish]);
    connection.resume();
    const order: string[] = [];
    const other = setImmediate().then(() => order.push('other'));
    await readText(call);
    order.push('end');
    call.release();
    await other;

    expect(order).toEqual(['other', 'end']);
  },
);

it('a model call stops if its signal aborts while bytes wait', async () => {
  const controller = new AbortController();
  const { call, connection } = slowCall([...manyReads(), finish], controller.signal);
  connection.resume();
  const stopped = setImmediate().then(() => {
    controller.abort(new Error('stopped by a person'));
  });
  await expect(readText(call)).rejects.toThrow('stopped by a person');
  call.release();
  await stopped;

  expect(connection.aborted).toBe(true);
});

it('a model call reads all bytes that arrived before an error, also in several turns', async () => {
  const { call, connection } = slowCall([]);
  for (const bytes of manyReads()) call.onResponseData(connection, bytes);
  call.onResponseError(connection, new Error('reset'));
  let length = 0;
  const text = readText(call, (read) => {
    length = read;
  });

  await expect(text).rejects.toMatchObject({ code: 'model_stream_broken' });
  call.release();
  expect(length).toBe(1_200_000);
});

it('a model call reads nothing after a chunk that is not an object', async () => {
  const comments = Buffer.from(': c\n'.repeat(10_000));
  const { call, connection } = slowCall([]);
  for (const bytes of [piece('Hi'), Buffer.from('data: [1]\n'), comments, piece('late')])
    call.onResponseData(connection, bytes);
  let length = 0;
  const text = readText(call, (read) => {
    length = read;
  });

  await expect(text).rejects.toMatchObject({ code: 'model_stream_broken' });
  call.release();
  expect(length).toBe('Hi'.length);
});

it('a model call reads the end of the body after `[DONE]`, although more bytes wait', async () => {
  const comments = Buffer.from(': c\n'.repeat(100_000));
  const { call, connection } = slowCall([
    Buffer.concat([piece('Hi'), finish, Buffer.from('data: [DONE]\n')]),
    comments,
  ]);
  connection.resume();
  expect(connection.paused).toBe(true);

  expect(await readText(call)).toBe('Hi');
  call.release();
  expect(connection).toMatchObject({ paused: false, aborted: false });
});

it('a model call ends at `[DONE]` and does not read the megabytes that follow it', async () => {
  const comments = Buffer.from(': c\n'.repeat(20_000));
  const reads = Array.from({ length: 100 }, () => comments);
  const { call, connection } = slowCall([
    Buffer.concat([piece('Hi'), finish, Buffer.from('data: [DONE]\n')]),
    ...reads,
  ]);
  connection.resume();

  expect(await readText(call)).toBe('Hi');
  call.release();
  expect(connection.left).toBeGreaterThan(80);
});

it('a model call pauses a connection that sends one byte in each chunk', async () => {
  const bytes = [...Buffer.from(`${': c\n'.repeat(5_000)}${piece('Hi').toString()}${finish.toString()}`)];
  const reads = bytes.map((byte) => Buffer.of(byte));
  const { call, connection } = slowCall(reads);
  connection.resume();
  expect(connection.paused).toBe(true);
  expect(reads.length).toBeGreaterThan(15_000);

  expect(await readText(call)).toBe('Hi');
  call.release();
});
