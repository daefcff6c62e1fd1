import { ByteCollector } from './byte-collector.js';

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const SPACE = 32;
const COLON = 58;
const LOWER_D = 100;

/** Receives the payloads of a stream, as ranges of a larger text: a payload that is not needed is never copied. */
export interface SseSink {
  /** Receives one payload: `block` from `start` to `end`. Returns false if it is not a whole document; it may then be the first line of one. */
  data(block: string, start: number, end: number): boolean;
  /** Receives a payload of several lines that was not whole at its first line. */
  wholeDocument(payload: string): void;
  /** Receives a line that is not a field of an event stream. Some servers send error objects this way. */
  unknownLine(line: string): void;
}

/** Far above the lines of a document that a server writes with indentation. Each line takes 32 bytes of memory besides its text. */
const MAX_PAYLOAD_LINES = 100_000;

/** A line, or a payload of several lines, is longer than `maxLineBytes`, or a payload has too many lines. */
export class SseLineTooLong extends Error {}

/**
 * Splits the bytes of an event stream into payloads (HTML Standard, section 9.2.6), however the network has split them: LF, CRLF and CR
 * end lines, a byte order mark and comments are skipped, one space after the colon is dropped, data of several lines is joined by LF.
 * It differs from the standard on purpose. The sink receives a payload as soon as it is a whole document and not at the blank line, because
 * some servers omit that line. The last line counts without a line end. `event`, `id` and `retry` are ignored.
 *
 * Bytes are decoded only up to the last line end, so no character is split, and all lines of a slice are decoded together.
 */
export class SseDecoder {
  /** The number of calls of `push` so far that completed a line. */
  completed = 0;
  /** The beginning of a line whose end has not arrived. */
  private readonly rest = new ByteCollector();
  private skipLineFeed = false;
  private isFirst = true;
  /** The lines so far of a payload that is not whole yet. */
  private open: string | undefined;
  private openLines = 0;

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
    this.completed += 1;
    const whole = this.upTo(bytes.subarray(0, cut));
    if (cut < bytes.length) this.keep(bytes.subarray(cut));
    this.take(whole);
  }

  /** Call it at the end of the stream: text without a line end counts as a line. */
  end(): void {
    if (this.rest.length > 0) this.take(this.upTo(Buffer.of(LINE_FEED)));
    this.closePayload();
  }

  private keep(bytes: Buffer): void {
    this.rest.add(bytes);
    if (this.rest.length > this.maxLineBytes) throw new SseLineTooLong();
  }

  private upTo(bytes: Buffer): Buffer {
    if (this.rest.length === 0) return bytes;
    this.rest.add(bytes);
    return this.rest.take();
  }

  private take(bytes: Buffer): void {
    const from = this.skipLineFeed && bytes[0] === LINE_FEED ? 1 : 0;
    this.skipLineFeed = bytes.at(-1) === CARRIAGE_RETURN;
    let text = endLinesByLineFeed(bytes.subarray(from)).toString('utf8');
    if (this.isFirst && text.startsWith('\uFEFF')) text = text.slice(1);
    this.isFirst = false;
    this.lines(text);
  }

  private lines(text: string): void {
    for (let start = 0; start < text.length;) {
      // For an empty line, `indexOf` takes ten times as long as this comparison.
      const end = text.charCodeAt(start) === LINE_FEED ? start : text.indexOf('\n', start);
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
      this.openLines = 1;
      return;
    }
    this.open = `${this.open}\n${text.slice(start, end)}`;
    this.openLines += 1;
    if (this.open.length > this.maxLineBytes || this.openLines > MAX_PAYLOAD_LINES) throw new SseLineTooLong();
  }

  private closePayload(): void {
    const payload = this.open;
    this.open = undefined;
    if (payload !== undefined) this.sink.wholeDocument(payload);
  }

  private field(line: string): void {
    if (!/^(?:event|id|retry|data)(?::|$)/.test(line)) this.sink.unknownLine(line);
  }
}

/** The same lines, each ended by LF only. The given bytes are not changed. */
function endLinesByLineFeed(bytes: Buffer): Buffer {
  const first = bytes.indexOf(CARRIAGE_RETURN);
  if (first === -1) return bytes;
  const lines = Buffer.allocUnsafe(bytes.length);
  bytes.copy(lines, 0, 0, first);
  let length = first;
  for (let i = first; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    if (byte !== CARRIAGE_RETURN) lines[length++] = byte;
    else if (bytes[i + 1] !== LINE_FEED) lines[length++] = LINE_FEED;
  }
  return lines.subarray(0, length);
}
