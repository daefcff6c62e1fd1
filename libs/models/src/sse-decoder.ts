const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const SPACE = 32;
const COLON = 58;
const LOWER_D = 100;

/** Takes the payloads of a stream. They are handed over as ranges of a larger text, so that nothing is copied to be skipped. */
export interface SseSink {
  /** One payload, `block` from `start` to `end`. False when it is not a whole document: it may be the first line of one. */
  data(block: string, start: number, end: number): boolean;
  /** A payload that was not whole at its first line, to its end. */
  whole(payload: string): void;
  /** A line that is not a field of an event stream; servers send bare error objects this way. */
  stray(line: string): void;
}

/** A line grew beyond the cap. */
export class SseLineTooLong extends Error {}

/**
 * Cuts the bytes of an event stream into payloads (HTML Standard, section 9.2.6), wherever the network has cut them: LF, CRLF
 * and CR end lines, a byte order mark and comments are skipped, one space after the colon is dropped, data of several lines is
 * joined by LF. Differs from the standard on purpose: a payload is handed over as soon as it is a whole document, not at the
 * blank line, because some servers leave that out; the last line counts without a line end; `event`, `id` and `retry` mean nothing here.
 *
 * Bytes are decoded only up to the last line end seen, so that no character is ever cut, and whole reads at a time.
 */
export class SseDecoder {
  private rest: Buffer[] = [];
  private restLength = 0;
  private skipLineFeed = false;
  private isFirst = true;
  /** Lines of a payload that is not whole yet. */
  private open: string | undefined;

  constructor(
    private readonly sink: SseSink,
    private readonly maxLineBytes: number,
  ) {}

  push(bytes: Buffer): void {
    if (bytes.length === 0) return;
    const cut = Math.max(bytes.lastIndexOf(LINE_FEED), bytes.lastIndexOf(CARRIAGE_RETURN)) + 1;
    if (cut === 0) {
      this.keep(bytes);
      return;
    }
    const whole =
      this.restLength === 0 ? bytes.subarray(0, cut) : Buffer.concat([...this.rest, bytes.subarray(0, cut)]);
    this.rest = [];
    this.restLength = 0;
    if (cut < bytes.length) this.keep(bytes.subarray(cut));
    this.take(whole);
  }

  /** The stream has ended: text without a line end counts as a line too. */
  end(): void {
    const last = Buffer.concat(this.rest);
    this.rest = [];
    this.restLength = 0;
    if (last.length > 0) this.take(Buffer.concat([last, Buffer.of(LINE_FEED)]));
    this.closePayload();
  }

  private keep(bytes: Buffer): void {
    this.rest.push(bytes);
    this.restLength += bytes.length;
    if (this.restLength > this.maxLineBytes) throw new SseLineTooLong();
  }

  private take(bytes: Buffer): void {
    let text = bytes.toString('utf8');
    if (this.isFirst && text.startsWith('\uFEFF')) text = text.slice(1);
    this.isFirst = false;
    if (this.skipLineFeed && text.startsWith('\n')) text = text.slice(1);
    this.skipLineFeed = text.endsWith('\r');
    if (text.includes('\r')) text = text.replace(/\r\n?/g, '\n');
    this.lines(text);
  }

  private lines(text: string): void {
    for (let start = 0; start < text.length;) {
      const end = text.indexOf('\n', start);
      if (end === start) {
        if (this.open !== undefined) this.closePayload();
      } else if (text.charCodeAt(start) === LOWER_D && text.startsWith('data:', start)) {
        const from = start + 5;
        this.data(text, text.charCodeAt(from) === SPACE ? from + 1 : from, end);
      } else if (text.charCodeAt(start) !== COLON) {
        this.field(text.slice(start, end));
      }
      start = end + 1;
    }
  }

  private data(text: string, start: number, end: number): void {
    if (end - start > this.maxLineBytes) throw new SseLineTooLong();
    if (this.open === undefined) {
      if (start < end && !this.sink.data(text, start, end)) this.open = text.slice(start, end);
      return;
    }
    this.open = `${this.open}\n${text.slice(start, end)}`;
    if (this.open.length > this.maxLineBytes) throw new SseLineTooLong();
  }

  private closePayload(): void {
    const payload = this.open;
    this.open = undefined;
    if (payload !== undefined) this.sink.whole(payload);
  }

  private field(line: string): void {
    if (!/^(?:event|id|retry|data)(?::|$)/.test(line)) this.sink.stray(line);
  }
}
