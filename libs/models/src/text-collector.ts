import { toStorableText } from '#platform';

import type { ModelPart } from './model/model.js';

type Kind = 'text' | 'reasoning';

/**
 * Joins the text of one read into as few parts as its order allows. NUL and lone surrogates become U+FFFD. If a surrogate pair is split between two
 * chunks, its first half is buffered until the next chunk of the same kind.
 */
export class TextCollector {
  private kind: Kind = 'text';
  private pending = '';
  private half = '';
  private parts: ModelPart[] = [];
  /** UTF-16 units of text so far, for estimates of usage. */
  length = 0;

  add(kind: Kind, text: string): void {
    if (kind !== this.kind) {
      this.flush(true);
      this.kind = kind;
    }
    this.pending += text;
    this.length += text.length;
  }

  /** Returns the parts since the last call. `isEnd`: no more text follows. */
  take(isEnd: boolean): ModelPart[] {
    this.flush(isEnd);
    const { parts } = this;
    this.parts = [];
    return parts;
  }

  private flush(isEnd: boolean): void {
    if (this.pending === '' && (this.half === '' || !isEnd)) return;
    let text = this.half + this.pending;
    this.pending = '';
    this.half = '';
    if (!isEnd && isHighSurrogate(text.charCodeAt(text.length - 1))) {
      this.half = text.slice(-1);
      text = text.slice(0, -1);
    }
    if (text !== '') this.parts.push({ type: this.kind, text: toStorableText(text) });
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
