import { PassThrough } from 'node:stream';

import { beforeEach, describe, expect, it } from '@jest/globals';

import { ManualClock } from '#platform';

import { OpenAiError } from '../../errors/openai-error.js';
import { StreamedSink } from './answer-server.js';

const usage = { promptTokens: 1, completionTokens: 1, estimated: false };
const failed = new OpenAiError({ status: 500, message: 'Agent execution failed', code: 'job_failed' });

describe('StreamedSink', () => {
  let clock: ManualClock;
  let begun: boolean;
  let waiting: string[];
  let text: string;
  let status: number | undefined;
  let sink: StreamedSink;

  beforeEach(() => {
    clock = new ManualClock();
    [begun, waiting, text, status] = [false, [], '', undefined];
    const socket = new PassThrough();
    socket.on('data', (bytes: Buffer) => (text += bytes.toString()));
    const response = Object.assign(socket, { socket: null, writeHead: (code: number) => (status = code) });
    sink = new StreamedSink({
      response: response as never, // all of a response that a stream needs
      clock,
      includeUsage: false,
      head: () => ({ id: 'chatcmpl-1', created: 1, model: 'm' }),
      hasBegun: () => begun,
      waitsFor: () => waiting,
      ...{ slowBytes: 1_000, slowMs: 1_000, onPing: () => undefined },
    });
  });

  const roles = () => text.match(/"role":"assistant"/g)?.length ?? 0;

  it('sends nothing before the first event', async () => {
    await sink.take([]);
    clock.advance(9_999);
    expect([status, text]).toEqual([undefined, '']);
  });

  it('begins after 10 s at the latest, and then sends a comment every 15 s', async () => {
    clock.advance(10_000);
    expect([status, roles()]).toEqual([200, 1]);
    clock.advance(15_000);
    expect(text.endsWith('\n\n: ping\n\n')).toBe(true);
    waiting = ['i1', 'i2'];
    clock.advance(15_000);
    expect(text.endsWith(': waiting approval i1\n\n: waiting approval i2\n\n')).toBe(true);
    await sink.take([{ type: 'content', text: 'x' }]);
    expect(roles()).toBe(1);
  });

  it('begins when the job starts to produce output', async () => {
    begun = true;
    await sink.take([]);
    expect([status, roles()]).toEqual([200, 1]);
  });

  it('throws a failure before the response has begun, and writes it as the last chunk afterwards', async () => {
    const end = { type: 'end', finishReason: 'stop', usage, error: failed } as const;
    await expect(sink.take([end])).rejects.toBe(failed);
    expect(status).toBeUndefined();
    clock.advance(10_000);
    await sink.take([end]);
    expect(text).toContain('[error] Agent execution failed');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('throws a failure when nothing was sent and nothing else is pending, even after the job has begun', async () => {
    begun = true;
    const end = { type: 'end', finishReason: 'stop', usage, error: failed } as const;
    await expect(sink.take([end])).rejects.toBe(failed);
    await sink.take([{ type: 'content', text: 'Half' }, end]);
    expect(text).toMatch(/"Half"[^]*\[error\] Agent execution failed[^]*data: \[DONE\]\n\n$/);
  });

  it('writes nothing after a failure before its first byte', () => {
    expect(() => {
      sink.fail(failed);
    }).toThrow(failed.message);
    clock.advance(20_000);
    expect(text).toBe('');
  });
});
