import type { JobEvent } from './follow-job.js';

/** A change of a growing text. The server may withdraw text that was shown; then `keep` is shorter than the previous text. */
export interface TextChange {
  /** How much of the previous text stays, in UTF-16 units. */
  readonly keep: number;
  /** The text that follows the kept part. */
  readonly append: string;
  /** The whole new text. */
  readonly text: string;
}

/** Builds the text of a job from its events. */
export class JobText {
  private current = '';

  get text(): string {
    return this.current;
  }

  /** The change that an event causes; undefined: none. */
  take(event: JobEvent): TextChange | undefined {
    if (event.__typename === 'JobSnapshotEvent') return this.become(event.content);
    if (event.__typename === 'RoundRestartedEvent') return this.change(event.contentLength, '');
    // A delta without an offset belongs to a workflow node only.
    if (event.__typename === 'TextDeltaEvent' && event.offset !== null) return this.change(event.offset, event.text);
    return undefined;
  }

  /** Replaces the whole text; undefined: it did not change. */
  become(text: string): TextChange | undefined {
    if (text === this.current) return undefined;
    const keep = commonLength(this.current, text);
    return this.change(keep, text.slice(keep));
  }

  private change(keep: number, append: string): TextChange | undefined {
    if (append === '' && keep >= this.current.length) return undefined;
    this.current = this.current.slice(0, keep) + append;
    return { keep, append, text: this.current };
  }
}

function commonLength(one: string, other: string): number {
  if (other.startsWith(one)) return one.length;
  let length = 0;
  while (one[length] === other[length]) length += 1;
  // A cut never falls inside a surrogate pair.
  const last = one.charCodeAt(length - 1);
  return last >= 0xd8_00 && last < 0xdc_00 ? length - 1 : length;
}
