import { timeSlice } from '../time-slice.js';
import { credentialsIn, cutCredential, type SecretRange } from './credential-shapes.js';
import type { FoundSecrets, KnownSecrets } from './known-secrets.js';

const MARK = '[redacted]';
/**
 * Longer than the shortest match of every pattern of a credential, so that the window contains a whole match even if a credential is split.
 */
const WINDOW = 256;
/** Maximum number of characters that are buffered as one possible secret. A longer run is released, so memory stays bounded: `knownStream` redacts it. */
const MAX_DELAYED_LENGTH = 16_384;

/** Characters of a long text that are redacted at once, which can take 15 ms. */
const PIECE_LENGTH = 65_536;
/** No secret of a workspace, with all its characters escaped, is longer. */
const MAX_SECRET_LENGTH = 262_144;

/** The number of released characters that are stored: they may be the start of an escape sequence that the next piece completes. */
const REMEMBERED = 16;
const LETTER = /[A-Za-z0-9]/;

/** Redacts text that arrives in pieces, even if a secret is split between two pieces. */
export interface RedactingStream {
  /** Adds the next piece and returns the text that can be released now. */
  push(text: string): string;
  /** Returns the rest of the text. */
  end(): string;
}

/** Redacts the secrets that are known at that moment, anywhere in a text, and text that looks like a credential. */
export class TextRedactor {
  constructor(private readonly known: () => readonly KnownSecrets[]) {}

  /** Replaces each secret by `[redacted]`. */
  redact(text: string): string {
    return cutOut(text, this.find(text));
  }

  /** Redacts only known secrets, for texts that must not change otherwise. */
  redactKnown(text: string): string {
    return cutOut(text, merge([...this.findKnown(text).ranges]));
  }

  /** Redacts a truncated text, including a possible secret cut at its end. */
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

  /** The same as `redact`. Lets other work of the process run meanwhile: 8 MiB can take 2 s. */
  async redactLong(text: string): Promise<string> {
    if (text.length <= PIECE_LENGTH) return this.redact(text);
    const stream = this.stream(MAX_SECRET_LENGTH);
    let shown = '';
    for (let at = 0; at < text.length; at += PIECE_LENGTH) {
      if (timeSlice.isOver) await timeSlice.nextTurn();
      shown += stream.push(text.slice(at, at + PIECE_LENGTH));
    }
    return shown + stream.end();
  }

  /**
   * Redacts a stream. The last 256 characters are delayed until the next piece, and the beginning of a possible secret until it has
   * `maxLength` characters.
   */
  stream(maxLength = MAX_DELAYED_LENGTH): RedactingStream {
    let delayed = '';
    return {
      push: (text) => {
        delayed += text;
        const known = this.findKnown(delayed);
        const found = [...known.ranges, ...credentialsIn(delayed)];
        const { ranges, cut } =
          delayed.length > maxLength ? cutOfLong(delayed, known.begun, found) : safeCut(delayed, known.begun, found);
        const shown = delayed.slice(0, cut);
        delayed = delayed.slice(cut);
        return cutOut(shown, upTo(cut, ranges));
      },
      end: () => {
        const rest = this.redact(delayed);
        delayed = '';
        return rest;
      },
    };
  }

  /**
   * Redacts known secrets in a stream without a fixed delay: only text that may be the beginning of a secret is delayed. A single first
   * character is delayed only at the beginning of a word, because nearly every piece ends with a character with which some form of a secret
   * begins.
   */
  knownStream(): RedactingStream {
    let seen = ''; // released text, before redaction
    let delayed = '';
    const advance = (text: string, isEnd: boolean): string => {
      const window = seen + delayed + text;
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
      delayed = window.slice(end);
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
    if (window.length - cut <= MAX_DELAYED_LENGTH) return { ranges: merged, cut };
    return { ranges: merge([...merged, { from: cut, start: cut, end: window.length }]), cut: window.length };
  }

  /** The ranges to redact, in order and without overlap. */
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

interface Cut {
  /** In order and without overlap. */
  readonly ranges: readonly SecretRange[];
  /** The position up to which text can be released. */
  readonly cut: number;
}

/** Cuts never inside a secret, and never after the beginning of a secret that is still arriving. */
function safeCut({ length }: string, begun: number, found: SecretRange[]): Cut {
  const ranges = merge(found);
  let cut = Math.max(0, Math.min(length - WINDOW, begun));
  // The beginning of a range may be inside of an earlier one.
  for (const { from, end } of ranges.toReversed()) if (from < cut && end > cut) cut = from;
  return { ranges, cut };
}

/** Cuts before a known secret that begins near the end; one that begins earlier is redacted as far as it has arrived. */
function cutOfLong({ length }: string, begun: number, found: SecretRange[]): Cut {
  if (begun > length / 2) return { ranges: merge(found), cut: begun };
  return { ranges: merge([...found, { from: begun, start: begun, end: length }]), cut: length };
}

/** The parts of the ranges before `cut`. */
function upTo(cut: number, ranges: readonly SecretRange[]): readonly SecretRange[] {
  return ranges.flatMap((range) => (range.start < cut ? [{ ...range, end: Math.min(range.end, cut) }] : []));
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
