import { credentialsIn, cutCredential, type SecretRange } from './credential-shapes.js';
import type { KnownSecrets } from './known-secrets.js';

const MARK = '[redacted]';
/** Longer than the shortest match of every shape of a credential, so that one cut in two is whole within the window. */
const WINDOW = 256;
/** What looks like one endless secret is given up on as text after this many characters, and marked. */
const LONGEST_HELD = 16_384;

/** Texts that arrive in pieces, redacted although a secret may be cut between two of them. */
export interface RedactingStream {
  /** Takes the next piece and returns what can be shown by now: the last 256 characters wait for the next one. */
  push(text: string): string;
  /** The rest. */
  end(): string;
}

/** Takes secrets out of text: those that are known at that moment, wherever they stand, and what looks like a credential. */
export class TextRedactor {
  constructor(private readonly known: () => readonly KnownSecrets[]) {}

  /** The text with each secret replaced by `[redacted]`. */
  redact(text: string): string {
    return cutOut(text, this.find(text));
  }

  /** The same for known secrets alone: for what has to stay as it is, unless it holds one. */
  redactKnown(text: string): string {
    return cutOut(text, merge(this.findKnown(text)));
  }

  /** The same for a text that was cut off at its end: what may be the first part of a secret there is left out. */
  redactCut(text: string): string {
    const ranges = this.find(text);
    const begun = Math.min(cutCredential(text), ...this.known().map((secrets) => secrets.cutIn(text)));
    const cut = ranges.find(({ from, end }) => from < begun && end > begun)?.from ?? begun;
    return cutOut(
      text.slice(0, cut),
      ranges.filter(({ end }) => end <= cut),
    );
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

  /** Never inside a secret, and never so late that the head of a secret still arriving would be shown. */
  private safeCut(length: number, ranges: readonly SecretRange[]): number {
    if (length > LONGEST_HELD) return length;
    const longest = Math.max(WINDOW, ...this.known().map((secrets) => secrets.longest));
    const cut = Math.max(0, length - longest);
    return ranges.find((range) => range.from < cut && range.end > cut)?.from ?? cut;
  }

  /** The ranges to take out, in order and without overlap. */
  private find(text: string): SecretRange[] {
    return merge([...this.findKnown(text), ...credentialsIn(text)]);
  }

  private findKnown(text: string): SecretRange[] {
    return this.known().flatMap((secrets) => [...secrets.find(text)]);
  }
}

function merge(ranges: SecretRange[]): SecretRange[] {
  const merged: SecretRange[] = [];
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

function cutOut(text: string, ranges: readonly SecretRange[]): string {
  if (ranges.length === 0) return text;
  let shown = '';
  let at = 0;
  for (const { start, end } of ranges) {
    shown += text.slice(at, start) + MARK;
    at = end;
  }
  return shown + text.slice(at);
}
