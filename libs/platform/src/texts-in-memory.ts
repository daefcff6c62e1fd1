import { AsyncLocalStorage } from 'node:async_hooks';

import { AppError } from './errors/app-error.js';
import { type RateLimit, rateLimited } from './errors/reached-limit.js';

/** Maximum size of the texts that one request reads, in UTF-8 bytes: a page has up to a hundred rows, and a text may have many MiB. */
const requestBytes = 67_108_864;
/** A request may always read this many bytes, so that large responses of a user do not stop the small ones. */
const freeBytes = 1_048_576;
const retryAfterSeconds = 1;

const userLimit: RateLimit = {
  name: 'unsent_text_bytes_per_user',
  value: requestBytes,
  raisedBy: 'fixed',
  counts: 'bytes of texts in the unsent responses of a user',
};
const processLimit: RateLimit = {
  name: 'unsent_text_bytes',
  value: 8 * requestBytes,
  raisedBy: 'fixed',
  counts: 'bytes of texts in the unsent responses of all users',
};

const current = new AsyncLocalStorage<RequestTexts>();

/**
 * Call it before reading the texts. Throws `too_large` if one request reads more than 64 MiB; `rate_limited` if the unsent
 * responses of the user have 64 MiB, or those of all users 512 MiB.
 */
export function assertReadable(bytes: number): void {
  const request = current.getStore();
  if (bytes + (request?.bytes ?? 0) > requestBytes) throw textsTooLarge();
  request?.add(bytes);
}

/** A request reads more than 64 MiB of texts. */
export function textsTooLarge(): AppError {
  const message = `The texts of this response have more than ${requestBytes / 1_048_576} MiB: request smaller pages or fewer fields`;
  return new AppError({ code: 'too_large', message });
}

/** The bytes of texts that the current request has read. */
export function readBytes(): number {
  return current.getStore()?.bytes ?? 0;
}

/** Ends the count of the current request, because it continues as a stream, which has a limit of its own for unsent bytes. */
export function endTextsOfRequest(): void {
  current.getStore()?.stream();
}

/** Counts the current request for this user. Call it before the request reads texts. */
export function countTextsFor(userId: string): void {
  const request = current.getStore();
  if (request !== undefined) request.userId = userId;
}

/** Counts the bytes of texts that the requests of this process have read and not yet sent. */
export class TextsInMemory {
  private total = 0;
  private readonly byUser = new Map<string, number>();
  /** Requests whose complete responses the clients have not read yet, in the order of their completion. */
  readonly unread = new Map<RequestTexts, () => void>();

  /** Begins a request. */
  open(userId = ''): RequestTexts {
    return new RequestTexts(this, userId);
  }

  /** Throws `rate_limited`. If the process has no room, disconnects clients that have not read their complete responses, the oldest first. */
  assertRoom(userId: string, bytes: number): void {
    if (bytes + (this.byUser.get(userId) ?? 0) > userLimit.value) throw rateLimited(userLimit, retryAfterSeconds);
    for (const [request, disconnect] of this.unread) {
      if (bytes + this.total <= processLimit.value) break;
      request.end();
      disconnect();
    }
    if (bytes + this.total > processLimit.value) throw rateLimited(processLimit, retryAfterSeconds);
  }

  change(userId: string, bytes: number): void {
    this.total += bytes;
    const left = (this.byUser.get(userId) ?? 0) + bytes;
    if (left > 0) this.byUser.set(userId, left);
    else this.byUser.delete(userId);
  }
}

/** The texts of one request, until its response has been sent. */
export class RequestTexts {
  bytes = 0;
  private state: 'counted' | 'streams' | 'over' = 'counted';

  /** `userId`: set again when the caller is known; callers without a credential share one limit. */
  constructor(
    private readonly all: TextsInMemory,
    public userId: string,
  ) {}

  /** Runs `work`, and all asynchronous work that it starts, as part of this request. */
  run<T>(work: () => T): T {
    return current.run(this, work);
  }

  /** Throws `rate_limited`, and `unavailable` if the client has disconnected. */
  add(bytes: number): void {
    if (this.state === 'over') throw new AppError({ code: 'unavailable', message: 'The client has disconnected' });
    if (this.state === 'streams') return;
    if (this.bytes + bytes > freeBytes) this.all.assertRoom(this.userId, bytes);
    this.bytes += bytes;
    this.all.change(this.userId, bytes);
  }

  /** Call it when the response is complete. `disconnect` is called if another request needs the room. */
  complete(disconnect: () => void): void {
    if (this.bytes > 0) this.all.unread.set(this, disconnect);
  }

  /** Call it when the response has been sent, or the client has disconnected. May be called again. */
  end(): void {
    this.free('over');
  }

  /** See `endTextsOfRequest`. */
  stream(): void {
    this.free('streams');
  }

  private free(state: 'streams' | 'over'): void {
    this.state = state;
    this.all.unread.delete(this);
    this.all.change(this.userId, -this.bytes);
    this.bytes = 0;
  }
}
