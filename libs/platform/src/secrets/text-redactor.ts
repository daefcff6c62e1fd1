import { credentialsIn, cutCredential, type SecretRange } from './credential-shapes.js';
import type { FoundSecrets, KnownSecrets } from './known-secrets.js';

const MARK = '[redacted]';
/** Longer than the shortest match of every shape of a credential, so that one cut in two is whole within the window. */
const WINDOW = 256;
/** The most characters that are buffered as one possible secret. A longer run is released as marked text, so memory stays bounded. */
const LONGEST_HELD = 16_384;

/** Characters of the released text that are kept: they may be the start of an escape sequence that the next piece completes. */
const REMEMBERED = 16;
const LETTER = /[A-Za-z0-9]/;

/** Redacts text that arrives in pieces, also when a secret is split between two pieces. */
export interface RedactingStream {
  /** Takes the next piece and returns what can be shown by now. */
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
    return cutOut(text, merge([...this.findKnown(text).ranges]));
  }

  /** The same for a text that was cut off at its end: what may be the first part of a secret there is left out. */
  redactCut(text: string): string {
    const known = this.findKnown(text);
    const ranges = merge([...known.ranges, ...credentialsIn(text)]);
    const begun = Math.min(cutCredential(text), known.begun);
    const cut = ranges.find(({ from, end }) => from < begun && end > begun)?.from ?? begun;
    return cutOut(
      text.slice(0, cut),
      ranges.filter(({ end }) => end <= cut),
    );
  }

  /** The last 256 characters of what was pushed wait for the next piece. */
  stream(): RedactingStream {
    let held = '';
    return {
      push: (text) => {
        held += text;
        const known = this.findKnown(held);
        const ranges = merge([...known.ranges, ...credentialsIn(held)]);
        const cut = safeCut(held.length, known.begun, ranges);
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

  /**
   * For known secrets alone, and without a delay: nothing waits but what a secret may begin with. The first character of one
   * waits at the beginning of a word only, since nearly every piece ends with one that some form of a secret begins with.
   */
  knownStream(): RedactingStream {
    let seen = ''; // shown, as it came
    let held = '';
    const advance = (text: string, isEnd: boolean): string => {
      const window = seen + held + text;
      const { ranges, cut } = this.known().every(({ isEmpty }) => isEmpty)
        ? { ranges: [], cut: window.length }
        : this.readyPart(window, isEnd);
      const from = seen.length;
      const ready = ranges.filter(({ end }) => end > from && end <= cut);
      const shifted = ready.map((range) => ({
        ...range,
        start: Math.max(0, range.start - from),
        end: range.end - from,
      }));
      const end = Math.max(cut, from);
      const shown = cutOut(window.slice(from, end), shifted);
      held = window.slice(end);
      seen = window.slice(Math.max(0, end - REMEMBERED), end);
      return shown;
    };
    return { push: (text) => advance(text, false), end: () => advance('', true) };
  }

  private readyPart(window: string, isEnd: boolean): { readonly ranges: readonly SecretRange[]; readonly cut: number } {
    const { ranges, begun } = this.findKnown(window);
    const merged = merge([...ranges]);
    const isOneLetter = begun === window.length - 1 && begun > 0 && LETTER.test(window.charAt(begun - 1));
    if (isEnd || (isOneLetter && LETTER.test(window.charAt(begun)))) return { ranges: merged, cut: window.length };
    const cut = merged.find(({ from, end }) => from < begun && end > begun)?.from ?? begun;
    if (window.length - cut <= LONGEST_HELD) return { ranges: merged, cut };
    return { ranges: merge([...merged, { from: cut, start: cut, end: window.length }]), cut: window.length };
  }

  /** The ranges to take out, in order and without overlap. */
  private find(text: string): SecretRange[] {
    return merge([...this.findKnown(text).ranges, ...credentialsIn(text)]);
  }

  private findKnown(text: string): FoundSecrets {
    const found = this.known().map((secrets) => secrets.find(text));
    return {
      ranges: found.flatMap(({ ranges }) => ranges),
      begun: Math.min(text.length, ...found.map(({ begun }) => begun)),
    };
  }
}

/** Never inside a secret, and never so late that the head of a secret still arriving would be shown. */
function safeCut(length: number, begun: number, ranges: readonly SecretRange[]): number {
  if (length > LONGEST_HELD) return length;
  const cut = Math.max(0, Math.min(length - WINDOW, begun));
  return ranges.find((range) => range.from < cut && range.end > cut)?.from ?? cut;
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
