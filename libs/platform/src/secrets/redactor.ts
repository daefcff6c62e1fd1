import type { Secret } from './secret.js';

const MARK = '[redacted]';
/** Below this a "secret" is a word of ordinary text, and marking it would only garble. */
const SHORTEST_KNOWN = 8;
/** Longer than the shortest match of every shape below, so that a shape cut in two is whole within the window. */
const WINDOW = 256;
/** What looks like one endless secret is given up on as text after this many characters, and marked. */
const LONGEST_HELD = 16_384;

/** A line break, as it is or as JSON writes it. */
const BREAK = String.raw`(?:\s|\\[nr])`;
const PEM_LINE = String.raw`Proc-Type: 4,ENCRYPTED|DEK-Info: [A-Z0-9-]{1,40}(?:,[A-F0-9]{1,64})?|[A-Za-z0-9+/]{16,}={0,2}`;
/** A private key by RFC 7468, or the first part of one: only what can stand in it, so that nothing else is hidden along with it. */
const PEM_KEY = new RegExp(
  `-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:${BREAK}{1,40}(?:${PEM_LINE}))*` +
    `(?:${BREAK}{1,40}[A-Za-z0-9+/]{1,76}={0,2}(?=${BREAK}{1,40}-----END))?` +
    `(?:${BREAK}{0,40}-----END [A-Z ]{0,40}PRIVATE KEY-----)?`,
  'g',
);

/**
 * Shapes of credentials. Each is linear: no repetition inside a repetition, and none begins within what it would go on with.
 * Group 1, where there is one, is kept.
 */
const SHAPES: readonly RegExp[] = [
  /\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}/g,
  /\b(?:nsk|ghp|gho|ghu|ghs|ghr|github_pat|glpat|hf|gsk|xai|whsec)[-_][A-Za-z0-9_+/=-]{16,}/g,
  /\bxox[abeprs]-[A-Za-z0-9-]{10,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /(?<![\w-])eyJ[A-Za-z0-9_-]{8,8192}\.[A-Za-z0-9_-]{4,8192}\.[A-Za-z0-9_-]{0,8192}/g,
  /\b(Bearer\s)[A-Za-z0-9._~+/=-]{8,}/gi,
  /\b(Basic\s)[A-Za-z0-9+/=]{16,}/g,
  /((?:api[-_]?key|password|secret)["']?\s?[:=]\s?["']?)[^\s"',;&}]{8,}/gi,
  /(:\/\/[^\s/:@]{0,64}:)[^\s/@]{1,128}(?=@)/g,
  PEM_KEY,
];

interface Range {
  /** Where the match begins; a stream is not cut after it, because what introduces a secret (`Bearer `) gives it away. */
  readonly from: number;
  readonly start: number;
  readonly end: number;
}

/** Texts that arrive in pieces, redacted although a secret may be cut between two of them. */
export interface RedactingStream {
  /** Takes the next piece and returns what can be shown by now: the last 256 characters wait for the next one. */
  push(text: string): string;
  /** The rest. */
  end(): string;
}

/**
 * Takes secrets out of text: every registered one wherever it stands, and what looks like a credential. Used where text
 * comes in from outside (provider errors, tool output) and where it leaves (logs, error answers).
 */
export class Redactor {
  private readonly known = new Map<string, number>();
  private longest = WINDOW;

  constructor(known: readonly Secret[] = []) {
    for (const secret of known) this.add(secret);
  }

  /** Registers a secret and returns its removal. Counted: two jobs may hold the same key. Under 8 characters: ignored. */
  add(secret: Secret): () => void {
    const value = secret.reveal();
    if (value.length < SHORTEST_KNOWN) return () => undefined;
    this.known.set(value, (this.known.get(value) ?? 0) + 1);
    this.longest = Math.max(this.longest, value.length);
    let isHeld = true;
    return () => {
      if (isHeld) this.release(value);
      isHeld = false;
    };
  }

  /** The text with each secret replaced by `[redacted]`. */
  redact(text: string): string {
    return cutOut(text, this.find(text));
  }

  /** The same for registered secrets alone: for what has to stay as it is, unless it holds one. */
  redactKnown(text: string): string {
    return cutOut(text, merge(this.findKnown(text)));
  }

  stream(): RedactingStream {
    let held = '';
    return {
      push: (text) => {
        held += text;
        const ranges = this.find(held);
        const cut = this.safeCut(held.length, ranges);
        const shown = held.slice(0, cut);
        held = held.slice(cut);
        return cutOut(
          shown,
          ranges.filter((range) => range.end <= cut),
        );
      },
      end: () => {
        const rest = this.redact(held);
        held = '';
        return rest;
      },
    };
  }

  private release(value: string): void {
    const count = this.known.get(value) ?? 0;
    if (count > 1) this.known.set(value, count - 1);
    else this.known.delete(value);
  }

  /** Never inside a secret, and never so late that the head of a secret still arriving would be shown. */
  private safeCut(length: number, ranges: readonly Range[]): number {
    if (length > LONGEST_HELD) return length;
    const cut = Math.max(0, length - this.longest);
    return ranges.find((range) => range.from < cut && range.end > cut)?.from ?? cut;
  }

  /** The ranges to take out, in order and without overlap. */
  private find(text: string): Range[] {
    const found = this.findKnown(text);
    for (const shape of SHAPES) {
      for (const match of text.matchAll(shape)) {
        const from = match.index;
        found.push({ from, start: from + (match[1]?.length ?? 0), end: from + match[0].length });
      }
    }
    return merge(found);
  }

  private findKnown(text: string): Range[] {
    const found: Range[] = [];
    for (const value of this.known.keys()) {
      for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1)) {
        found.push({ from: at, start: at, end: at + value.length });
      }
    }
    return found;
  }
}

function merge(ranges: Range[]): Range[] {
  const merged: Range[] = [];
  for (const range of ranges.sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last !== undefined && range.start < last.end) {
      merged[merged.length - 1] = {
        from: Math.min(last.from, range.from),
        start: last.start,
        end: Math.max(last.end, range.end),
      };
    } else merged.push(range);
  }
  return merged;
}

function cutOut(text: string, ranges: readonly Range[]): string {
  if (ranges.length === 0) return text;
  let shown = '';
  let at = 0;
  for (const { start, end } of ranges) {
    shown += text.slice(at, start) + MARK;
    at = end;
  }
  return shown + text.slice(at);
}
