import type { AnswerEnd, AnswerPart, ClientToolCall } from './answer-part.js';

/** Collects the parts of a response until `take` returns them. Text never ends within a surrogate pair; a block has its own lines. */
export class AnswerOutput {
  private parts: AnswerPart[] = [];
  /** Pending text, to which more may be added. */
  private text = '';
  /** The first half of a surrogate pair whose second half is not there yet. */
  private half = '';
  private isAtLineStart = true;
  private isParagraphDue = false;
  /** Whether no content was sent and none is pending. */
  isEmpty = true;

  /** `isHeld`: combine all text into one part until `release` is called. */
  constructor(private isHeld: boolean) {}

  say(text: string): void {
    const whole = this.half + text;
    const end = endsInHalf(whole) ? whole.length - 1 : whole.length;
    this.half = whole.slice(end);
    this.add(whole.slice(0, end).toWellFormed());
  }

  /** Adds a block, on its own lines. */
  block(text: string): void {
    this.flush();
    this.add(`${this.isAtLineStart ? '' : '\n'}${text}\n`);
    this.flush();
  }

  /** Separates the next text from the previous one, because the model ran tools between the two. */
  paragraph(): void {
    this.isParagraphDue = !this.isEmpty;
  }

  /** Adds a comment about progress. A late one is useless, so comments are dropped while the output is held. */
  comment(text: string): void {
    if (this.isHeld) return;
    this.flush();
    this.parts.push({ type: 'comment', text });
  }

  end(calls: readonly ClientToolCall[], end: AnswerEnd): void {
    this.release();
    this.flush();
    if (calls.length > 0) this.parts.push({ type: 'tool-calls', calls });
    this.parts.push(end);
  }

  release(): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    this.flushText();
  }

  take(): readonly AnswerPart[] {
    this.flushText();
    const { parts } = this;
    this.parts = [];
    return parts;
  }

  private add(text: string): void {
    if (text === '') return;
    if (this.isParagraphDue && !text.startsWith('\n')) this.text += this.isAtLineStart ? '\n' : '\n\n';
    this.isParagraphDue = false;
    this.text += text;
    this.isEmpty = false;
    this.isAtLineStart = text.endsWith('\n');
  }

  /** Ends the text without adding to it; an incomplete surrogate pair stays incomplete. */
  private flush(): void {
    if (this.half !== '') {
      this.half = '';
      this.add('\uFFFD');
    }
    this.flushText();
  }

  private flushText(): void {
    if (this.isHeld || this.text === '') return;
    this.parts.push({ type: 'content', text: this.text });
    this.text = '';
  }
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last < 0xdc00;
}
