/** Where a link begins in the text, and how much could be read before it. */
export interface OpenLink {
  readonly at: number;
  readonly read: number;
}

/**
 * Builds plain text the way a page is laid out: runs of white space are one space, blocks stand on lines of their own, at most
 * one empty line between them. Every step costs the same however long the text is.
 */
export class TextWriter {
  private readonly pieces: string[] = [];
  private breaks = 0;
  private hasSpace = false;
  /** Characters written that are no white space. */
  private read = 0;

  /** What is wanted of the text later: a mark for `since`. */
  get mark(): number {
    return this.pieces.length;
  }

  /** How much there is to read so far. */
  get length(): number {
    return this.read;
  }

  text(text: string): void {
    const words = text.replace(/[\s\u00a0]+/g, ' ');
    const inner = words.trim();
    if (words.startsWith(' ')) this.space();
    if (inner === '') return;
    this.push(inner);
    if (words.endsWith(' ')) this.space();
  }

  /** Text as it is, line breaks and all. */
  preformatted(text: string): void {
    if (text !== '') this.push(text);
  }

  /** Text that stands for itself, such as the dash of a list item; spaces before it are dropped. */
  sign(text: string): void {
    this.push(text);
    this.hasSpace = false;
  }

  /** The next text begins on a new line; with 2 after an empty one. */
  break(lines: 1 | 2): void {
    this.breaks = Math.max(this.breaks, lines);
    this.hasSpace = false;
  }

  openLink(): OpenLink {
    this.flush();
    this.pieces.push('');
    return { at: this.pieces.length - 1, read: this.read };
  }

  /** Marks everything since as a link, unless there was nothing to read. */
  closeLink({ at, read }: OpenLink, url: string): void {
    if (this.read === read) return;
    this.pieces[at] = '[';
    this.pieces.push(`](${url})`);
  }

  toString(): string {
    return this.since(0, this.mark);
  }

  since(from: number, to: number): string {
    return this.pieces.slice(from, to).join('').trim();
  }

  private space(): void {
    this.hasSpace = this.breaks === 0 && this.pieces.length > 0;
  }

  private push(text: string): void {
    this.flush();
    this.pieces.push(text);
    this.read += text.length;
  }

  private flush(): void {
    if (this.breaks > 0 && this.read > 0) this.pieces.push('\n'.repeat(this.breaks));
    else if (this.hasSpace) this.pieces.push(' ');
    this.breaks = 0;
    this.hasSpace = false;
  }
}
