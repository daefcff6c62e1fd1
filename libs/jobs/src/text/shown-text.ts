/** Consecutive text of one round. */
export interface ShownPiece {
  readonly round: number;
  readonly text: string;
}

/** The result of a withdrawal: the length that stays, and later text of other rounds, which must be shown again. */
export interface Withdrawal {
  readonly length: number;
  readonly again: readonly (ShownPiece & { readonly offset: number })[];
}

interface Piece {
  readonly round: number;
  length: number;
  /** Empty for the first piece: no earlier piece can be withdrawn, so it is never shown again. */
  text: string;
}

/**
 * The growing text of a job, as far as it may still change: its length, and the pieces since the oldest open round began. Pieces of
 * concurrent rounds alternate. Pure.
 */
export class ShownText {
  /** Pieces since the oldest open round began. */
  private pieces: Piece[] = [];
  private readonly closed = new Set<number>();
  /** UTF-16 length of all shown text. */
  length: number;

  constructor(length: number) {
    this.length = length;
  }

  /** Shows a piece; returns its offset. */
  add(round: number, text: string): number {
    const offset = this.length;
    this.length += text.length;
    const last = this.pieces.at(-1);
    if (last?.round !== round) {
      this.pieces.push({ round, length: text.length, text: this.pieces.length === 0 ? '' : text });
      return offset;
    }
    last.length += text.length;
    if (this.pieces.length > 1) last.text += text;
    return offset;
  }

  /** Ends a round whose text stays; returns the length of its text. */
  close(round: number): number {
    const pieces = this.pieces.filter((piece) => piece.round === round);
    if (pieces.length === 0) return 0;
    this.closed.add(round);
    this.forgetSettled();
    return lengthOf(pieces);
  }

  /** Withdraws the text of the round. */
  withdraw(round: number): Withdrawal {
    const first = this.pieces.findIndex((piece) => piece.round === round);
    if (first === -1) return { length: this.length, again: [] };
    const behind = this.pieces.splice(first);
    this.length -= lengthOf(behind);
    const { length } = this;
    const others = behind.filter((piece) => piece.round !== round);
    const again = others.map(({ round: other, text }) => ({ round: other, text, offset: this.add(other, text) }));
    this.forgetSettled();
    return { length, again };
  }

  /**
   * Resumes the text of another worker. `shown`: the pieces in the log after the first `before` units. All rounds before them are finished.
   * `isOpen`: whether a round is unfinished.
   */
  resume(before: number, shown: readonly ShownPiece[], isOpen: (round: number) => boolean): void {
    this.length = before;
    this.pieces = [];
    for (const { round, text } of shown) {
      if (!isOpen(round)) this.closed.add(round);
      this.add(round, text);
      this.forgetSettled();
    }
  }

  private forgetSettled(): void {
    const open = this.pieces.findIndex(({ round }) => !this.closed.has(round));
    this.pieces.splice(0, open === -1 ? this.pieces.length : open);
    if (this.pieces.length === 0) this.closed.clear();
  }
}

function lengthOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}
