import type { Writable } from 'node:stream';

type Style = 'bold' | 'dim' | 'green' | 'red' | 'cyan';

const codes: Readonly<Record<Style, readonly [on: number, off: number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  green: [32, 39],
  red: [31, 39],
  cyan: [36, 39],
};

/** Output for people. Colors appear on a terminal only, unless NO_COLOR is set (no-color.org). */
export class Terminal {
  private readonly colours: boolean;

  constructor(
    private readonly out: Writable & { readonly isTTY?: boolean },
    options: { readonly noColor?: boolean } = {},
  ) {
    this.colours = out.isTTY === true && options.noColor !== true;
  }

  /** Whether the output is a terminal, not a file or a pipe. */
  get isTerminal(): boolean {
    return this.out.isTTY === true;
  }

  write(text: string): void {
    this.out.write(text);
  }

  line(text = ''): void {
    this.out.write(`${text}\n`);
  }

  style(style: Style, text: string): string {
    const [on, off] = codes[style];
    return this.colours ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  }
}

/**
 * Removes control characters from the text of a model or a tool, because they could move the cursor or change the window's title. Line ends
 * and tabs stay.
 */
export function toPlainText(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}
