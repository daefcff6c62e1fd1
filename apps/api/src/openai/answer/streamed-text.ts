/** Stands between a text that was withdrawn after it was told, and the one that is told in its place. */
const RESTARTED = '\n\n[restarted]\n\n';

/**
 * A running text as a client was told it. What is withdrawn cannot be taken back from a client: as long as the new text repeats
 * it, nothing is told; at the first difference the whole new text is. Each method gives what is to be told now. Pure.
 */
export class StreamedText {
  /** What the client takes for the text. */
  private told = '';
  /** Where the withdrawn part of it begins; null: nothing is withdrawn. */
  private cut: number | null = null;
  /** How much of the withdrawn part was said again. */
  private repeated = 0;

  add(text: string): string {
    const { cut } = this;
    if (cut === null) {
      this.told += text;
      return text;
    }
    const same = sameLength(this.told, cut + this.repeated, text);
    this.repeated += same;
    if (cut + this.repeated === this.told.length) {
      this.cut = null;
      return this.add(text.slice(same));
    }
    return same === text.length ? '' : this.restart(cut, text.slice(same));
  }

  /** What lies beyond `length` is withdrawn. */
  withdraw(length: number): void {
    if (this.cut !== null && length > this.cut) this.repeated = Math.min(this.repeated, length - this.cut);
    else if (length < this.told.length) {
      this.cut = length;
      this.repeated = 0;
    }
  }

  /** The text is whole: what was withdrawn and not said again by now is not part of it. */
  settle(): string {
    return this.cut === null ? '' : this.restart(this.cut, '');
  }

  /** What was told stays so; from here on it is another text. */
  clear(): void {
    this.told = '';
    this.cut = null;
  }

  private restart(cut: number, rest: string): string {
    const text = this.told.slice(cut, cut + this.repeated) + rest;
    this.told = this.told.slice(0, cut) + text;
    this.cut = null;
    return RESTARTED + text;
  }
}

/** How many units of `text` stand in `whole` at `at`. */
function sameLength(whole: string, at: number, text: string): number {
  if (whole.startsWith(text, at)) return text.length;
  let same = 0;
  while (at + same < whole.length && whole.charCodeAt(at + same) === text.charCodeAt(same)) same++;
  return same;
}
