import { type Clock, type TextRedactor, type Timer, toStorableText } from '#platform';
import type { ToolProgress } from '#tools';

/** Ms between two progress events. */
const betweenMs = 500;
const longestMessage = 500;

/** Emits the progress reports of a running call or node: the first at once, then the newest twice a second. `seq`: 1, 2, 3 … */
export class CallProgress {
  private seq = 0;
  private waiting: ToolProgress | undefined;
  private timer: Timer | undefined;
  private isOver = false;

  constructor(
    private readonly emit: (seq: number, shown: ToolProgress) => void,
    private readonly services: { readonly clock: Clock; readonly redactor: Pick<TextRedactor, 'redact'> },
  ) {}

  report(progress: ToolProgress): void {
    if (this.isOver) return;
    this.waiting = progress;
    if (this.timer === undefined) this.show();
  }

  /** Stops the reports. Call it before the end of the call is written, because no progress may follow the end. */
  close(): void {
    this.isOver = true;
    this.timer?.cancel();
  }

  private show(): void {
    this.timer = undefined;
    const shown = this.waiting;
    if (shown === undefined || this.isOver) return;
    this.waiting = undefined;
    this.seq += 1;
    this.emit(this.seq, clean(shown, this.services.redactor));
    this.timer = this.services.clock.after(betweenMs, () => {
      this.show();
    });
  }
}

/** Drops values that are not finite numbers; redacts a message before it is truncated, so that no part of a secret stays. */
function clean({ progress, total, message }: ToolProgress, redactor: Pick<TextRedactor, 'redact'>): ToolProgress {
  return {
    ...(Number.isFinite(progress) && progress !== undefined ? { progress } : {}),
    ...(Number.isFinite(total) && total !== undefined ? { total } : {}),
    ...(message === undefined ? {} : { message: toStorableText(redactor.redact(message).slice(0, longestMessage)) }),
  };
}
