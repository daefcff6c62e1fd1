import type { JobEvent } from './follow-job.js';

/** A step of a text that grows. What was shown may be withdrawn: then `keep` is shorter than the text was. */
export interface TextChange {
  /** How much of the text before stays, in UTF-16 units. */
  readonly keep: number;
  /** What follows that. */
  readonly append: string;
  /** The whole text as it is now. */
  readonly text: string;
}

/** The text of a job, put together from its log. */
export class JobText {
  private current = '';

  get text(): string {
    return this.current;
  }

  /** The step that an event is, if it is one. */
  take(event: JobEvent): TextChange | undefined {
    if (event.__typename === 'JobSnapshotEvent') return this.become(event.content);
    if (event.__typename === 'RoundRestartedEvent') return this.change(event.contentLength, '');
    // Without an offset it is shown at its node only.
    if (event.__typename === 'TextDeltaEvent' && event.offset !== null) return this.change(event.offset, event.text);
    return undefined;
  }

  /** Takes a text as a whole; undefined when it is what we have. */
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
