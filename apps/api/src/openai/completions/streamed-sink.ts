import type { ServerResponse } from 'node:http';

import type { Clock, Timer } from '#platform';

import { SseWriter } from '../../streams/sse-writer.js';
import type { AnswerPart } from '../answer/answer-part.js';
import { type AnswerHead, ChunkWriter, commentLine } from '../answer/chunk-writer.js';
import type { AnswerSink } from './answer-sink.js';

export interface StreamedSinkParts {
  readonly response: ServerResponse;
  readonly clock: Clock;
  readonly includeUsage: boolean;
  /** Asked once, when the first chunk is due. */
  readonly head: () => AnswerHead;
  /** Whether the model or a tool has begun. */
  readonly hasBegun: () => boolean;
  /** Requests that people have to decide before the job continues. */
  readonly waitsFor: () => readonly string[];
  readonly slowBytes: number;
  readonly slowMs: number;
  /** Runs with every ping. */
  readonly onPing: () => void;
}

const pingMs = 15_000;
/** The client gets the response headers after at most this time, even without an event. */
const longestSilenceMs = 10_000;

/**
 * A response as an event stream. Its headers leave with the first event, or after 10 s: a failure before that is an
 * separate error response. It requests items only when the client can take them, so it has no queue.
 */
export class StreamedSink implements AnswerSink {
  private readonly writer: SseWriter;
  private readonly opening: Timer;
  private chunks: ChunkWriter | undefined;

  constructor(private readonly parts: StreamedSinkParts) {
    const { response, clock, slowBytes, slowMs, onPing } = parts;
    const pingText = () => this.pingText();
    this.writer = new SseWriter(response, { clock, pingMs, slowBytes, slowMs, onPing, opening: '', pingText });
    this.opening = clock.after(longestSilenceMs, () => this.open());
    response.once('close', () => {
      this.opening.cancel();
    });
  }

  async take(parts: readonly AnswerPart[]): Promise<void> {
    const end = parts.find((part) => part.type === 'end');
    if (this.chunks === undefined) {
      const hasBegun = this.parts.hasBegun();
      // Nothing was sent yet, and this error is the only thing to send.
      if (end !== undefined && end.error !== null && (!hasBegun || parts.length === 1)) throw end.error;
      if (!hasBegun && parts.length === 0) return;
    }
    const chunks = this.open();
    const text = parts.map((part) => chunks.lines(part)).join('');
    if (end === undefined) this.writer.write(text);
    else this.writer.end(text);
    if (this.writer.isCongested && (await this.writer.drained()) === 'slow') this.writer.cut('');
  }

  fail(error: unknown): void {
    this.opening.cancel();
    if (this.chunks === undefined) throw error;
    this.writer.cut('');
  }

  private open(): ChunkWriter {
    this.opening.cancel();
    if (this.chunks !== undefined) return this.chunks;
    const { head, includeUsage } = this.parts;
    this.chunks = new ChunkWriter(head(), { includeUsage });
    if (!this.writer.isOver) {
      this.writer.open();
      this.writer.write(this.chunks.role());
    }
    return this.chunks;
  }

  private pingText(): string {
    const waiting = this.parts.waitsFor();
    return waiting.length === 0
      ? commentLine('ping')
      : waiting.map((id) => commentLine(`waiting approval ${id}`)).join('');
  }
}
