import type { Writable } from 'node:stream';
import type { ReadStream } from 'node:tty';

import { cutToWidth } from './text-width.js';

/** Standard output or error. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };
/** Standard input. */
export type Input = NodeJS.ReadableStream & {
  readonly isTTY?: boolean;
  readonly setRawMode?: ReadStream['setRawMode'];
};

export interface ScreenInit {
  readonly input: Input;
  readonly out: Output;
  readonly errors: Output;
  readonly noColor: boolean;
  readonly isDumb: boolean;
  /** Never prompt, even on a terminal. */
  readonly noInput: boolean;
}

export type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow' | 'cyan';

const codes: Readonly<Record<Style, readonly [on: number, off: number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  green: [32, 39],
  red: [31, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 90;
/** What a line of a log may well have. */
const WITHOUT_TERMINAL = 200;

/**
 * What a command shows: results on standard output, everything about the work on standard error. On a terminal there is also
 * one status line, always the last, which goes before anything else is written.
 */
export class Screen {
  /** Whether a person can be asked. */
  readonly isInteractive: boolean;
  /** Whether results appear in front of a person, so that they may grow while they are read. */
  readonly isLive: boolean;
  private readonly showsStatus: boolean;
  private midLine = false;
  private drawn = false;
  private status: (() => string) | null = null;
  private timer: NodeJS.Timeout | undefined;
  private frame = 0;
  private held: (() => void)[] | null = null;

  constructor(private readonly init: ScreenInit) {
    const { input, out, errors, isDumb, noInput } = init;
    this.isInteractive = input.isTTY === true && errors.isTTY === true && !isDumb && !noInput;
    this.isLive = out.isTTY === true;
    this.showsStatus = errors.isTTY === true && !isDumb;
  }

  get input(): Input {
    return this.init.input;
  }

  get errors(): Output {
    return this.init.errors;
  }

  /** For lines of the result. What goes to a file or a pipe is not cut. */
  get columns(): number {
    return this.init.out.columns ?? Number.MAX_SAFE_INTEGER;
  }

  /** For lines about the work. */
  get noteColumns(): number {
    return this.init.errors.columns ?? WITHOUT_TERMINAL;
  }

  /** For standard output. */
  ink(style: Style, text: string): string {
    return this.painted(this.init.out, style, text);
  }

  /** For standard error. */
  paint(style: Style, text: string): string {
    return this.painted(this.init.errors, style, text);
  }

  /** A piece of the result. */
  text(piece: string): void {
    if (piece === '') return;
    this.write(() => {
      this.init.out.write(piece);
      if (this.isLive) this.midLine = !piece.endsWith('\n');
    });
  }

  /** A line of the result. */
  line(text = ''): void {
    this.write(() => {
      this.endLine();
      this.init.out.write(`${text}\n`);
    });
  }

  /** A line about the work. */
  note(text = ''): void {
    this.write(() => {
      this.endLine();
      this.init.errors.write(`${text}\n`);
    });
  }

  /** What is going on, until the next call; `null` is nothing. Shown on a terminal only, and not while a result's line is open. */
  show(status: (() => string) | null): void {
    if (!this.showsStatus) return;
    this.status = status;
    if (status === null) {
      clearInterval(this.timer);
      this.timer = undefined;
      this.erase();
      return;
    }
    this.timer ??= setInterval(() => {
      this.frame += 1;
      this.draw();
    }, FRAME_MS).unref();
    this.draw();
  }

  /** Gives the terminal to `work`; what is written meanwhile appears afterwards. */
  async lend<T>(work: () => Promise<T>): Promise<T> {
    this.erase();
    this.endLine();
    this.held ??= [];
    try {
      return await work();
    } finally {
      const waiting = this.held;
      this.held = null;
      for (const write of waiting) this.write(write);
    }
  }

  /** Leaves the terminal as it was found. */
  close(): void {
    this.show(null);
    this.endLine();
  }

  private write(put: () => void): void {
    if (this.held !== null) {
      this.held.push(put);
      return;
    }
    this.erase();
    put();
    this.draw();
  }

  private endLine(): void {
    if (this.midLine) this.init.out.write('\n');
    this.midLine = false;
  }

  private draw(): void {
    if (this.status === null || this.midLine || this.held !== null) return;
    const spinner = this.paint('cyan', frames[this.frame % frames.length] ?? '');
    this.init.errors.write(
      `\r\u001b[K${spinner} ${this.paint('dim', cutToWidth(this.status(), this.noteColumns - 3))}`,
    );
    this.drawn = true;
  }

  private erase(): void {
    if (this.drawn) this.init.errors.write('\r\u001b[K');
    this.drawn = false;
  }

  private painted(stream: Output, style: Style, text: string): string {
    const [on, off] = codes[style];
    const plain = stream.isTTY !== true || this.init.noColor || this.init.isDumb;
    return plain ? text : `\u001b[${on}m${text}\u001b[${off}m`;
  }
}
