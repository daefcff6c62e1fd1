import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';

import type { MemberPrincipal } from '#auth';
import { AppError, type Clock, type RateLimit, systemClock, type Timer } from '#platform';
import { CallerTurns, OpenStreams } from '#platform/api';

import type { PlacedFile } from '../files.repository.js';
import { Files } from '../files.service.js';
import type { ByteRange } from '../store/file-store.js';

/** Maximum bytes of a file that each download reads and has in memory at once. */
const partBytes = 524_288;
/** Maximum parts that a process reads at once: each takes a database connection. */
const readsAtOnce = 4;
/** Time on the event loop for a part, and for a refusal. */
const [partMs, refusalMs] = [5, 1];
/** A client that reads no part for this time is disconnected. */
const timeoutMs = 60_000;
const perUser: RateLimit = {
  name: 'file_downloads_at_once',
  value: 10,
  raisedBy: 'fixed',
  counts: 'requests of a user for the content of files at once',
};

/** Headers that are set before the first part is read. */
const ofFile = ['ETag', 'Accept-Ranges', 'Cache-Control'];

/** Writes the content of a file, a part at a time: the next one is read when the client has taken the last one. */
@Injectable()
export class FileDownload {
  /** Tests replace it. */
  clock: Clock = systemClock;
  /** Users read their parts in turn, so that many downloads of one user do not delay others. */
  private turns: CallerTurns | undefined;
  private reads = 0;
  /** Reads that wait for another one to end, the oldest first: at most one for each open download. */
  private readonly waiting: (() => void)[] = [];

  constructor(
    private readonly files: Files,
    private readonly streams: OpenStreams,
  ) {}

  /**
   * Throws before anything is written: `rate_limited`, `not_found`, `unavailable`. Slow clients keep their connections for long, so a user has a
   * limited number of requests. The slot comes first, so that a refused request costs no query.
   */
  async write(principal: MemberPrincipal, request: Request<{ hash: string }>, response: Response): Promise<void> {
    const { userId, workspaceId } = principal;
    const owner = { principal: `files ${userId}`, workspaceId, jobId: `files:${workspaceId}` };
    const slot = await this.enter(userId, () => this.streams.enter(owner, () => response.destroy(), perUser));
    try {
      await this.writeInSlot(principal, request, response);
    } finally {
      slot.leave();
    }
  }

  /** A refusal takes a turn of the user, too: a client that repeats refused requests at once delays only itself. */
  private async enter<Slot>(userId: string, enter: () => Slot): Promise<Slot> {
    try {
      return enter();
    } catch (error) {
      await this.turnOf(userId, refusalMs);
      throw error;
    }
  }

  private turnOf(userId: string, ms: number): Promise<void> {
    this.turns ??= new CallerTurns(this.clock);
    const { turns } = this;
    return new Promise((resolve) => turns.next(userId, ms, resolve));
  }

  private async writeInSlot(
    principal: MemberPrincipal,
    request: Request<{ hash: string }>,
    response: Response,
  ): Promise<void> {
    const file = await this.files.get(principal, request.params.hash);
    const etag = `"${file.hash}"`;
    response.setHeader('ETag', etag).setHeader('Accept-Ranges', 'bytes');
    // Rights to a file may end, so caches must revalidate every response.
    response.setHeader('Cache-Control', 'private, no-cache');
    if (request.fresh) {
      response.status(304).end();
      return;
    }
    const ranges = isOfOther(request, etag) ? undefined : request.range(file.bytes);
    if (ranges === -1) {
      response.status(416).setHeader('Content-Range', `bytes */${file.bytes}`).end();
      return;
    }
    const [one, more] = Array.isArray(ranges) && ranges.type === 'bytes' ? ranges : [];
    const range = one === undefined || more !== undefined ? null : { start: one.start, end: one.end + 1 };
    if (request.method === 'HEAD') {
      describe(response, file, range);
      response.end();
      return;
    }
    try {
      await this.send(principal.userId, { file, range }, response);
    } catch (error) {
      if (!response.headersSent) for (const name of ofFile) response.removeHeader(name); // the error is not the file
      throw error;
    }
  }

  private async send(userId: string, content: Content, response: Response): Promise<void> {
    const { file, range } = content;
    const parts = this.partsOf(userId, { file, range: range ?? { start: 0, end: file.bytes } }, response);
    const first = await parts.next();
    if (response.destroyed) return; // the client has left
    describe(response, file, range);
    try {
      await pipeline(Readable.from(joined(first, parts), { objectMode: true, highWaterMark: 1 }), response);
    } catch (error) {
      response.destroy();
      if (!(error instanceof AppError) && !isPrematureClose(error)) throw error;
    }
  }

  private async *partsOf(userId: string, { file, range: { start, end } }: Part, response: Response) {
    let timeout: Timer | undefined;
    try {
      for (let at = start; at < end && !response.destroyed;) {
        const partEnd = Math.min(at - (at % partBytes) + partBytes, end); // stores keep contents in rows of this size
        const part = await this.readInTurn(userId, { file, range: { start: at, end: partEnd } }, response);
        timeout?.cancel();
        timeout = this.clock.after(timeoutMs, () => response.destroy());
        yield part;
        at = partEnd;
      }
    } finally {
      timeout?.cancel();
    }
  }

  /** Empty: the client has left while the read waited. */
  private async readInTurn(userId: string, { file, range }: Part, response: Response): Promise<Uint8Array> {
    await this.turnOf(userId, Math.max(1, (partMs * (range.end - range.start)) / partBytes));
    if (this.reads < readsAtOnce) this.reads += 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return response.destroyed ? new Uint8Array() : await this.files.read(file, range);
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.reads -= 1;
      else next();
    }
  }
}

/** A file, and what of it is sent; null: all of it. */
interface Content {
  readonly file: PlacedFile;
  readonly range: ByteRange | null;
}

type Part = Content & { readonly range: ByteRange };

type Parts = AsyncGenerator<Uint8Array, void>;

async function* joined(first: IteratorResult<Uint8Array, void>, rest: Parts): Parts {
  if (first.done === true) return;
  yield first.value;
  yield* rest;
}

/** Content that a browser renders under our origin could run scripts there: the headers make it a download, in a sandbox without rights. */
function describe(response: Response, file: PlacedFile, range: ByteRange | null): void {
  const { start, end } = range ?? { start: 0, end: file.bytes };
  response.status(range === null ? 200 : 206).attachment(file.name ?? file.hash);
  response.setHeader('Content-Type', file.mime.startsWith('text/') ? `${file.mime}; charset=utf-8` : file.mime);
  response.setHeader('Content-Length', end - start);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Content-Security-Policy', "default-src 'none'; sandbox");
  if (range !== null) response.setHeader('Content-Range', `bytes ${start}-${end - 1}/${file.bytes}`);
}

/** Whether `If-Range` names another content; then the whole file is sent. */
function isOfOther(request: Pick<Request, 'headers'>, etag: string): boolean {
  const known = request.headers['if-range'];
  return known !== undefined && known !== etag;
}

function isPrematureClose(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
}
