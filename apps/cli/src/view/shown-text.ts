/**
 * The text of a job as it was shown. Deltas may repeat what is known; a restart withdraws the end. Positions are UTF-16 code
 * units in the content of the job.
 */
export class ShownText {
  private shown = '';

  get text(): string {
    return this.shown;
  }

  /** Takes a delta and returns what is new in it. */
  add(offset: number, text: string): string {
    const known = Math.max(0, this.shown.length - offset);
    const fresh = text.slice(known);
    this.shown += fresh;
    return fresh;
  }

  /** Everything beyond `length` does not count any more. Returns whether something was withdrawn. */
  cut(length: number): boolean {
    if (length >= this.shown.length) return false;
    this.shown = this.shown.slice(0, length);
    return true;
  }

  /** The text is this now. Returns what has to be written after what was, or null when that no longer stands. */
  replace(text: string): string | null {
    const before = this.shown;
    this.shown = text;
    return text.startsWith(before) ? text.slice(before.length) : null;
  }
}
