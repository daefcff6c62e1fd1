import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';

import { beforeEach, describe, expect, it } from '@jest/globals';

import { ManualClock } from '#platform';

import { SseWriter } from './sse-writer.js';

/** As much of a response as the writer touches; `unsent` bytes wait until `take`. */
class SlowResponse extends EventEmitter {
  readonly sent: string[] = [];
  headers: Readonly<Record<string, string>> = {};
  readonly socket = { setKeepAlive: () => undefined };
  unsent = 0;
  takes = true;
  writableEnded = false;
  destroyed = false;

  get writableLength(): number {
    return this.unsent;
  }

  get writableNeedDrain(): boolean {
    return this.unsent > 0;
  }

  writeHead(_status: number, headers: Readonly<Record<string, string>>): void {
    this.headers = headers;
  }

  write(text: string): void {
    this.sent.push(text);
    if (!this.takes) this.unsent += text.length;
  }

  end(text: string): void {
    this.sent.push(text);
    this.writableEnded = true;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }

  take(): void {
    this.unsent = 0;
    this.emit('drain');
  }
}

let clock: ManualClock, response: SlowResponse, writer: SseWriter, pings: number;

beforeEach(() => {
  clock = new ManualClock();
  response = new SlowResponse();
  pings = 0;
  const options = { clock, pingMs: 15_000, slowBytes: 100, slowMs: 30_000, onPing: () => (pings += 1) };
  // The writer touches nothing of a response that is not above.
  writer = new SseWriter(response as unknown as ServerResponse, options);
  writer.open();
});

describe('SseWriter', () => {
  it('begins with headers that forbid buffering, and with the reconnection time', () => {
    expect(response.headers).toEqual({
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-cache, no-transform',
      'X-Accel-Buffering': 'no',
      Connection: 'keep-alive',
    });
    expect(response.sent).toEqual(['retry: 2000\n\n']);
  });

  it('writes a comment after each 15 s without output', () => {
    clock.advance(14_999);
    expect(response.sent).toHaveLength(1);
    clock.advance(1);
    expect(response.sent.at(-1)).toBe(': ping\n\n');
    clock.advance(15_000);
    expect(pings).toBe(2);
  });

  it('measures the 15 s from the last write', () => {
    clock.advance(14_000);
    writer.write('x');
    clock.advance(14_000);
    expect(response.sent.at(-1)).toBe('x');
  });

  it('reports congestion above the limit, and drains when the network has taken all bytes', async () => {
    response.takes = false;
    writer.write('x'.repeat(100));
    expect(writer.isCongested).toBe(false);
    writer.write('y');
    expect(writer.isCongested).toBe(true);
    const drained = writer.drained();
    response.take();
    expect(await drained).toBe('drained');
    expect(writer.isCongested).toBe(false);
    expect(response.listenerCount('drain')).toBe(0);
  });

  it('reports a reader as slow when it has not drained in time', async () => {
    response.takes = false;
    writer.write('x'.repeat(200));
    const drained = writer.drained();
    clock.advance(30_000);
    expect(await drained).toBe('slow');
  });

  it('stops waiting when the reader disconnects', async () => {
    response.takes = false;
    writer.write('x'.repeat(200));
    const drained = writer.drained();
    response.destroy();
    expect(await drained).toBe('closed');
    expect(await writer.drained()).toBe('closed');
  });

  it('disconnects a reader that has not read the end after 30 s', () => {
    writer.end('bye');
    expect(response.sent.at(-1)).toBe('bye');
    clock.advance(29_999);
    expect(response.destroyed).toBe(false);
    clock.advance(1);
    expect(response.destroyed).toBe(true);
  });

  it('closes the connection without waiting on request', () => {
    writer.cut('slow');
    expect(response.sent.at(-1)).toBe('slow');
    expect(response.destroyed).toBe(true);
  });

  it('writes nothing after the end and leaves no timer', () => {
    writer.end('bye');
    writer.write('more');
    writer.end('again');
    writer.cut('and again');
    expect(response.sent).toEqual(['retry: 2000\n\n', 'bye']);
    response.emit('close');
    expect(clock.pending).toBe(0);
  });

  it('ignores a connection that breaks during a write', () => {
    expect(() => response.emit('error', new Error('ECONNRESET'))).not.toThrow();
  });
});
