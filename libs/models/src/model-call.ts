import type { IncomingHttpHeaders } from 'node:http';

import type { Dispatcher } from 'undici';

import { AppError, type Clock, type Secret, type Timer } from '#platform';

import { ByteCollector } from './byte-collector.js';
import type { ModelLimits, ModelPart } from './model/model.js';
import {
  modelAnswerTooLarge,
  ModelError,
  modelStreamBroken,
  modelTimedOut,
  modelUnreachable,
  modelUrlRefused,
} from './model/models.errors.js';
import { parseRetryAfter, providerFailed, readFailure, readFailureBody } from './provider-failure.js';
import { ErrorInResponse, ResponseReader } from './response-reader.js';
import { SseDecoder, SseLineTooLong } from './sse-decoder.js';
import { type StreamTurns, streamTurns } from './stream-turns.js';
import { ToolCallsTooLarge } from './tool-call-assembler.js';

/** Bytes that may wait for the consumer before the socket is paused. */
const MAX_WAITING_BYTES = 262_144;
/** Maximum chunks that may wait: a server can send one byte in each, and each chunk takes about 160 bytes besides. */
const MAX_WAITING_CHUNKS = 4_096;
/** Bytes that are decoded at once. Decoding a slice usually takes 1 ms, and at most 10 ms; a longer line is decoded as a whole. */
const SLICE_BYTES = 32_768;
/** Maximum bytes that are read of the body of a failure. */
const MAX_FAILURE_BYTES = 65_536;
/**
 * How long (ms) a server may take to end the body after a complete response, so that the connection can be reused. Then the connection is
 * closed.
 */
const LINGER_MS = 1_000;

/** The options of one attempt. */
export interface ModelCallOptions {
  readonly clock: Clock;
  /** Aborts the attempt. */
  readonly signal: AbortSignal;
  readonly apiKey: Secret | null;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly limits: ModelLimits;
  readonly newCallId: () => string;
  readonly promptLength: number;
  /** See `ModelRequest`. */
  readonly onData?: (() => void) | undefined;
  /** Default: `streamTurns`, which all streams of the process share. */
  readonly turns?: StreamTurns;
}

const NO_BYTES = Buffer.alloc(0);

type Mode = 'starting' | 'stream' | 'document' | 'failure';

/**
 * One attempt: an undici handler that receives bytes, and an iterator that returns batches of parts. Arriving bytes are only buffered; they are
 * decoded when the consumer asks for parts, so all chunks of one read of the socket cost one wake-up and one decoding. Bytes that take long are
 * decoded in several turns of the event loop. An attempt ends in one of three ways: the server ends the body (`hasEnded`), an error ends it
 * (`failure`), or the signal aborts it. Bytes that arrived before an error are still read, and a response that was complete by then stays
 * complete.
 */
export class ModelCall implements Dispatcher.DispatchHandler {
  private readonly reader: ResponseReader;
  private readonly decoder: SseDecoder;
  private controller: Dispatcher.DispatchController | undefined;
  private mode: Mode = 'starting';
  private status = 0;
  private retryAfterSeconds: number | undefined;
  /** The chunks that wait to be decoded, after the bytes in `block`. */
  private waiting: Buffer[] = [];
  private block: Buffer = NO_BYTES;
  /** The bytes of `block` and `waiting` together. */
  private waitingBytes = 0;
  private readonly body = new ByteCollector();
  private totalBytes = 0;
  private hasEnded = false;
  private hasFinished = false;
  private failure: Error | undefined;
  private wake: (() => void) | undefined;
  private timer: Timer | undefined;
  /** When the consumer began to wait, or when the last line of a stream or the last bytes of a document arrived. Monotonic ms. */
  private quietSince = 0;
  private readonly turns: StreamTurns;

  constructor(private readonly options: ModelCallOptions) {
    options.signal.addEventListener('abort', this.onAbort);
    this.reader = new ResponseReader(options);
    this.decoder = new SseDecoder(this.reader, options.limits.maxLineBytes);
    this.turns = options.turns ?? streamTurns;
    this.timer = options.clock.after(options.firstByteTimeoutMs, () => {
      this.fail(modelTimedOut('first_byte', false));
    });
  }

  /**
   * Returns the next parts, at least one; undefined after the last. Throws the cause if the attempt failed: a `ModelError`, or the signal's reason.
   */
  async next(): Promise<readonly ModelPart[] | undefined> {
    let completed: number | undefined;
    for (;;) {
      const decoded = this.hasBytes ? this.turns.run(this.decodeSlice) : undefined;
      if (decoded !== undefined) await decoded;
      const parts = this.read();
      if (parts === undefined || parts.length > 0) return parts;
      if (this.hasBytes) continue;
      // Bytes that complete no line are no progress: a line could arrive for hours.
      if (completed !== this.decoder.completed) this.quietSince = this.options.clock.monotonic();
      completed = this.decoder.completed;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }

  /** Frees everything; call it when the consumer has ended. After a complete response, the connection has `LINGER_MS` to become reusable. */
  release(): void {
    this.timer?.cancel();
    this.options.signal.removeEventListener('abort', this.onAbort);
    if (this.hasEnded || this.failure !== undefined) return;
    const leave = () => {
      this.fail(new Error('The rest of the response is discarded.'));
    };
    if (this.hasFinished) this.timer = this.options.clock.after(LINGER_MS, leave);
    else leave();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.failure !== undefined) controller.abort(this.failure);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.status = status;
    this.retryAfterSeconds = parseRetryAfter(headers['retry-after'], this.options.clock.now());
    const isEncoded = (headers['content-encoding'] ?? 'identity') !== 'identity'; // the request asked for the encoding `identity`
    if (status > 299) this.mode = 'failure';
    else if (isEncoded) this.fail(modelStreamBroken());
    else this.mode = /\bjson\b/i.test(headers['content-type'] ?? '') ? 'document' : 'stream';
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.hasFinished || this.hasEnded || this.failure !== undefined) return;
    if (this.totalBytes === 0) this.watchQuiet(this.options.idleTimeoutMs);
    this.totalBytes += bytes.length;
    if (this.mode === 'stream') {
      this.waitingBytes += bytes.length;
      this.waiting.push(bytes);
    } else this.body.add(bytes);
    if (this.totalBytes > this.options.limits.maxStreamBytes) this.fail(modelAnswerTooLarge());
    else if (this.mode !== 'stream') this.limitBody(controller);
    else if (this.wake !== undefined) this.notify();
    else if (this.waitingBytes > MAX_WAITING_BYTES || this.waiting.length > MAX_WAITING_CHUNKS) controller.pause();
  }

  onResponseEnd(): void {
    this.timer?.cancel();
    this.hasEnded = true;
    this.notify();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.timer?.cancel();
    if (this.hasEnded || this.failure !== undefined) return;
    this.failure = this.totalBytes > 0 && this.mode !== 'failure' ? modelStreamBroken(error) : toConnectionError(error);
    this.notify();
  }

  /** Ends the attempt at once, even if part of the response has arrived. */
  private readonly onAbort = (): void => {
    this.fail(new Error('The model call was stopped.', { cause: this.options.signal.reason }));
  };

  private limitBody(controller: Dispatcher.DispatchController): void {
    this.quietSince = this.options.clock.monotonic();
    if (this.mode === 'document') {
      if (this.body.length > this.options.limits.maxLineBytes) this.fail(modelAnswerTooLarge());
    } else if (this.body.length > MAX_FAILURE_BYTES) {
      this.onResponseEnd();
      controller.abort(new Error('The rest of the response is discarded.'));
    }
  }

  private fail(error: Error): void {
    this.timer?.cancel();
    this.failure ??= error;
    this.controller?.abort(error);
    this.notify();
  }

  private notify(): void {
    const { wake } = this;
    this.wake = undefined;
    wake?.();
  }

  /** One timer for the whole stream, restarted only when it fires. The time that the consumer needs for a batch does not count. */
  private watchQuiet(delayMs: number): void {
    const { clock, idleTimeoutMs } = this.options;
    this.timer?.cancel();
    this.timer = clock.after(delayMs, () => {
      const quietMs = this.wake === undefined ? 0 : clock.monotonic() - this.quietSince;
      if (quietMs >= idleTimeoutMs) this.fail(modelTimedOut('idle', this.mode !== 'failure'));
      else this.watchQuiet(idleTimeoutMs - quietMs);
    });
  }

  /** Whether bytes wait to be decoded. Those after `[DONE]` are ignored. */
  private get hasBytes(): boolean {
    return this.waitingBytes > 0 && !this.reader.isOver;
  }

  /** Returns the parts that are available now; undefined after the last. */
  private read(): readonly ModelPart[] | undefined {
    if (this.hasFinished) return undefined;
    this.options.signal.throwIfAborted();
    // A resumed connection may deliver the next bytes at once, and even the end. Bytes are decoded before the end is read.
    if (this.hasBytes) return this.reader.take();
    const isBroken = this.failure !== undefined;
    if (this.reader.isOver || (isBroken && this.reader.isComplete)) return this.finish();
    if (!this.hasEnded || isBroken) {
      const parts = this.reader.take();
      if (this.failure !== undefined && parts.length === 0) throw this.failure;
      return parts;
    }
    return this.mode === 'failure' ? this.throwHttpFailure() : this.finish();
  }

  /** Returns false if no bytes are left. */
  private readonly decodeSlice = (): boolean => {
    if (!this.hasBytes) return false;
    const bytes = this.takeSlice();
    try {
      this.decoder.push(bytes);
    } catch (error) {
      this.fail(this.toReadingError(error));
      this.discardWaiting();
    }
    if (this.reader.isOver) this.discardWaiting();
    if (this.waitingBytes === 0 && this.controller?.paused === true) this.controller.resume();
    return this.hasBytes;
  };

  private takeSlice(): Buffer {
    if (this.block.length === 0) {
      const [first] = this.waiting;
      this.block = this.waiting.length === 1 && first !== undefined ? first : Buffer.concat(this.waiting);
      this.waiting = [];
    }
    const slice = this.block.subarray(0, SLICE_BYTES);
    this.block = slice.length === this.block.length ? NO_BYTES : this.block.subarray(SLICE_BYTES);
    this.waitingBytes -= slice.length;
    return slice;
  }

  private discardWaiting(): void {
    this.block = NO_BYTES;
    this.waiting = [];
    this.waitingBytes = 0;
  }

  private finish(): readonly ModelPart[] {
    this.timer?.cancel();
    try {
      this.readRest();
      const parts = this.reader.finish();
      this.hasFinished = true;
      return parts;
    } catch (error) {
      const failure = this.toReadingError(error);
      this.fail(failure);
      const parts = this.reader.take();
      if (parts.length === 0) throw failure;
      return parts;
    }
  }

  /** Reads what a clean end leaves: a last line without a line end, or the response of a server that does not stream. */
  private readRest(): void {
    if (!this.hasEnded || this.failure !== undefined || this.reader.isOver) return;
    try {
      if (this.mode === 'document') this.reader.wholeDocument(this.body.toText());
      else this.decoder.end();
    } catch (error) {
      // A truncated line after the finish reason does not make the response incomplete.
      if (!this.reader.isComplete) throw error;
    }
  }

  private toReadingError(error: unknown): ModelError {
    if (error instanceof ModelError) return error;
    if (error instanceof ErrorInResponse)
      return providerFailed({ ...readFailure(error.error), afterFirstByte: true }, this.options.apiKey);
    return error instanceof SseLineTooLong || error instanceof ToolCallsTooLarge
      ? modelAnswerTooLarge()
      : modelStreamBroken(error, this.totalBytes > 0);
  }

  private throwHttpFailure(): never {
    const { status, retryAfterSeconds } = this;
    const reported = readFailureBody(this.body.toText());
    const hint = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
    throw providerFailed({ ...reported, status, afterFirstByte: false, ...hint }, this.options.apiKey);
  }
}

function toConnectionError(error: Error): ModelError {
  const isRefused = [error, error.cause].some((one) => one instanceof AppError && one.code === 'address_refused');
  return isRefused ? modelUrlRefused(error) : modelUnreachable(error);
}
