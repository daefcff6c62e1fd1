import { type Terminal, toPlainText } from '../terminal.js';
import type { SampleEvent } from './sample-event.js';

const LONGEST_SHOWN = 100;

/** Under the text of lines that begin with a time. */
const INDENT = ' '.repeat(13);

/**
 * Shows the events of a job as they come: rounds, tool calls, text as it streams. Each line begins with the time at which
 * this viewer saw it, in ms since the request.
 */
export class SampleView {
  private isInText = false;

  constructor(private readonly out: Terminal) {}

  show(event: SampleEvent, elapsedMs: number): void {
    switch (event.type) {
      case 'round-started':
        this.line(elapsedMs, `round ${event.round}, ${toPlainText(event.model)}`);
        return;
      case 'text':
        this.showText(toPlainText(event.text), elapsedMs);
        return;
      case 'round-restarted':
        this.line(elapsedMs, `round ${event.round} starts again; its text is withdrawn`);
        return;
      case 'tool-call':
        if (event.isSettled) {
          const name = this.out.style('cyan', toPlainText(event.name));
          this.line(elapsedMs, `  ${name} ${oneLine(event.args)} -> ${oneLine(event.outcome)}`);
        }
        return;
      case 'waiting':
      case 'finished':
        this.endText();
        return;
      default:
        event satisfies never;
    }
  }

  private line(elapsedMs: number, text: string): void {
    this.endText();
    this.out.line(this.time(elapsedMs) + text);
  }

  private showText(text: string, elapsedMs: number): void {
    if (text === '') return;
    if (!this.isInText) this.out.write(`${this.time(elapsedMs)}  `);
    this.out.write(text.replaceAll('\n', `\n${INDENT}`));
    this.isInText = true;
  }

  private endText(): void {
    if (this.isInText) this.out.line();
    this.isInText = false;
  }

  private time(elapsedMs: number): string {
    return this.out.style('dim', `${String(Math.round(elapsedMs)).padStart(6)} ms  `);
  }
}

function oneLine(text: string): string {
  const line = toPlainText(text).replaceAll(/\s+/g, ' ');
  return line.length <= LONGEST_SHOWN ? line : `${line.slice(0, LONGEST_SHOWN)}…`;
}
