import { oneLine } from '../terminal/plain-text.js';
import { cutToWidth, textWidth } from '../terminal/text-width.js';

/** One cell: its text from any source, and how it is painted once its width is known. */
export interface Cell {
  readonly text: string;
  readonly paint?: ((text: string) => string) | undefined;
}

const GAP = 2;

/** Rows under their headings, each column as wide as its widest cell; the last one is cut at the edge of the screen. */
export function formatTable(headings: readonly Cell[], rows: readonly (readonly Cell[])[], columns: number): string[] {
  const all = [headings, ...rows].map((row) => row.map((cell) => ({ ...cell, text: oneLine(cell.text) })));
  const widths = headings.map((_, at) => Math.max(...all.map((row) => textWidth(row[at]?.text ?? ''))));
  return all.map((row) => lineOf(row, widths, columns));
}

function lineOf(row: readonly Cell[], widths: readonly number[], columns: number): string {
  let used = 0;
  const shown = row.map(({ text, paint = (plain: string) => plain }, at) => {
    const isLast = at === row.length - 1;
    const width = widths[at] ?? 0;
    const cut = isLast ? cutToWidth(text, Math.max(8, columns - used)) : text;
    used += width + GAP;
    return paint(cut) + (isLast ? '' : ' '.repeat(width - textWidth(cut) + GAP));
  });
  return shown.join('').trimEnd();
}
