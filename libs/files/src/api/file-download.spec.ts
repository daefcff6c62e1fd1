import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';

import { describe, expect, it } from '@jest/globals';
import type { Request, Response } from 'express';

import type { MemberPrincipal } from '#auth';
import { Config, ManualClock } from '#platform';
import { OpenStreams } from '#platform/api';

import type { Files } from '../files.service.js';
import type { ByteRange } from '../store/file-store.js';
import { FileDownload } from './file-download.js';

const bytes = 2_000_000;

/** Reads that wait until `respond` is called for each. */
class SlowFiles {
  readonly reads: { readonly range: ByteRange; readonly respond: () => void }[] = [];

  readonly users: string[] = [];
  lookups = 0;
  error: Error | null = null;

  get({ userId }: MemberPrincipal) {
    this.lookups += 1;
    return Promise.resolve({ hash: 'a', mime: 'text/plain', bytes, name: userId });
  }

  read({ name: userId }: { readonly name: string }, range: ByteRange): Promise<Uint8Array> {
    if (this.error !== null) return Promise.reject(this.error);
    return new Promise((resolve) => {
      const respond = () => {
        resolve(new Uint8Array(range.end - range.start));
      };
      this.users.push(userId);
      this.reads.push({ range, respond });
    });
  }
}

/** The response to a client that reads everything, or nothing. */
function responseTo({ reads }: { readonly reads: boolean }) {
  const taken: number[] = [];
  const stream = new Writable({
    write: (part: Uint8Array, _encoding, next) => {
      taken.push(part.length);
      if (reads) next();
    },
  });
  const self = () => response;
  const headers = new Set<string>();
  const setHeader = (name: string): unknown => {
    headers.add(name);
    return response;
  };
  const removeHeader = (name: string) => headers.delete(name);
  const response = Object.assign(stream, {
    setHeader,
    removeHeader,
    headersSent: false,
    status: self,
    attachment: self,
  });
  return { taken, headers, response: response as unknown as Response }; // what a download uses of it
}

function stage() {
  const files = new SlowFiles();
  const streams = new OpenStreams(Config.from({}));
  const download = new FileDownload(files as unknown as Files, streams); // what a download uses of it
  const clock = new ManualClock();
  download.clock = clock;
  const start = (userId: string, reads: boolean) => {
    const { taken, headers, response } = responseTo({ reads });
    const request = { params: { hash: 'a' }, headers: {}, method: 'GET', fresh: false, range: () => undefined };
    const principal = { id: `user:${userId}`, userId, workspaceId: 'w' } as MemberPrincipal; // as above
    const ended = download.write(principal, request as unknown as Request<{ hash: string }>, response);
    return { taken, headers, response, ended };
  };
  const nextTurn = async () => {
    clock.advance(1);
    await setImmediate();
  };
  return { files, streams, clock, nextTurn, start };
}

describe('FileDownload', () => {
  it('sends a content in the parts in which it is stored', async () => {
    const { files, streams, nextTurn, start } = stage();
    const { taken, ended } = start('ada', true);
    for (let part = 0; part < 4; part += 1) {
      await setImmediate();
      await nextTurn();
      files.reads[part]?.respond();
    }
    await ended;
    expect(taken).toEqual([524_288, 524_288, 524_288, bytes - 3 * 524_288]);
    expect(streams.size).toBe(0);
  });

  it('sends no header of the file with an error', async () => {
    const { files, nextTurn, start } = stage();
    files.error = new Error('away');
    const { headers, ended } = start('ada', true);
    const refused = expect(ended).rejects.toThrow('away');
    await setImmediate();
    await nextTurn();
    await refused;
    expect([...headers]).toEqual([]);
  });

  it('reads one part of each user in turn, regardless of the number of their downloads', async () => {
    const { files, nextTurn, start } = stage();
    for (let i = 0; i < 10; i += 1) start('ada', true).ended.catch(() => undefined);
    await setImmediate();
    start('bob', false).ended.catch(() => undefined);
    await setImmediate();
    for (let turn = 0; turn < 2; turn += 1) await nextTurn();
    expect(files.users).toEqual(['ada', 'bob']);
  });

  it('reads four parts at once, for any number of downloads', async () => {
    const { files, nextTurn, start } = stage();
    for (const user of ['ada', 'bob', 'eve'])
      for (let i = 0; i < 5; i += 1) start(user, true).ended.catch(() => undefined);
    await setImmediate();
    for (let turn = 0; turn < 100; turn += 1) await nextTurn();
    expect(files.reads).toHaveLength(4);
    files.reads[0]?.respond();
    await setImmediate();
    expect(files.reads).toHaveLength(5);
  });

  it('rejects the 11th download of a user at once, without a query', async () => {
    const { files, nextTurn, start } = stage();
    for (let i = 0; i < 10; i += 1) start('ada', false).ended.catch(() => undefined);
    await setImmediate();
    const refusal = { code: 'rate_limited', details: { limit: 'file_downloads_at_once', limitValue: 10 } };
    const refused = expect(start('ada', false).ended).rejects.toMatchObject(refusal);
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    await refused;
    expect(files.lookups).toBe(10);
    start('bob', false).ended.catch(() => undefined);
  });

  it('disconnects a client that reads nothing for a minute', async () => {
    const { files, streams, clock, nextTurn, start } = stage();
    const { response, ended } = start('ada', false);
    for (let part = 0; part < 2; part += 1) {
      await setImmediate();
      await nextTurn();
      files.reads[part]?.respond();
    }
    await setImmediate();
    clock.advance(59_999);
    expect(response.destroyed).toBe(false);
    clock.advance(1);
    expect(response.destroyed).toBe(true);
    await ended;
    expect(streams.size).toBe(0);
  });

  it('ends without an error and reads no more if the client leaves before the first part', async () => {
    const { files, streams, nextTurn, start } = stage();
    const { response, ended } = start('ada', true);
    await setImmediate();
    await nextTurn();
    response.destroy();
    files.reads[0]?.respond();
    await ended;
    expect([files.reads.length, streams.size]).toEqual([1, 0]);
  });
});
