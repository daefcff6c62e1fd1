import { type Clock, type Timer, toStorableText } from '#platform';

import { cutToBytes } from '../project-result.js';
import type { ToolProgress } from '../tool.js';
import type { ToolProgressMessage } from './queue-message.js';

/** Viewers see at most two updates per second, so the process sends no more. */
const betweenMs = 500;
const longestMessageBytes = 8_192;

export type ProgressChunk = Pick<ToolProgressMessage, 'seq' | 'chunk' | 'is_final_chunk'>;

/**
 * Sends the progress of a call to the queue: the first update at once, then the newest twice a second, numbered in order, one at a time. An
 * update that cannot be sent is dropped: progress is for display only.
 */
export class ProgressSender {
  private seq = 0;
  private waiting: ToolProgress | undefined;
  private timer: Timer | undefined;
  private sending: Promise<void> | undefined;
  private isOver = false;

  constructor(
    private readonly send: (chunk: ProgressChunk) => Promise<void>,
    private readonly clock: Clock,
    private readonly redact: (text: string) => string,
  ) {}

  report(progress: ToolProgress): void {
    if (this.isOver) return;
    this.waiting = progress;
    if (this.timer === undefined) this.show(false);
  }

  /** Resolves when no update is being sent. */
  get idle(): Promise<void> {
    return this.sending ?? Promise.resolve();
  }

  /** Sends the last pending update and accepts no more. Resolves when it is sent or dropped. */
  async close(): Promise<void> {
    this.isOver = true;
    this.timer?.cancel();
    this.show(true);
    await this.idle;
  }

  private show(isFinal: boolean): void {
    this.timer = undefined;
    if (this.waiting === undefined) return;
    // While the database is slow, only the newest update waits, so that no backlog grows.
    if (this.sending !== undefined && !isFinal) {
      this.showLater();
      return;
    }
    const chunk = this.toChunk(this.waiting);
    this.waiting = undefined;
    this.seq += 1;
    this.dispatch({ seq: this.seq, chunk, is_final_chunk: isFinal });
    if (!isFinal) this.showLater();
  }

  private dispatch(message: ProgressChunk): void {
    const before = this.sending ?? Promise.resolve();
    const sending = before
      .then(() => this.send(message))
      .catch(() => undefined)
      .then(() => {
        if (this.sending === sending) this.sending = undefined;
      });
    this.sending = sending;
  }

  private showLater(): void {
    this.timer = this.clock.after(betweenMs, () => {
      this.show(false);
    });
  }

  private toChunk({ progress, total, message }: ToolProgress): ProgressChunk['chunk'] {
    return {
      ...(isNumber(progress) ? { progress } : {}),
      ...(isNumber(total) ? { total } : {}),
      ...(typeof message === 'string'
        ? { message: cutToBytes(toStorableText(this.redact(message)), longestMessageBytes) }
        : {}),
    };
  }
}

/** The tool may be written in any language, and JSON cannot represent infinity. */
function isNumber(value: number | undefined): value is number {
  return Number.isFinite(value);
}
