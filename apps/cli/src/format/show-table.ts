import type { Screen } from '../terminal/screen.js';
import { type Cell, formatTable } from './table.js';

/** A list as the result of a command. */
export function showTable(screen: Screen, headings: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const top = headings.map((text) => ({ text, paint: (plain: string) => screen.ink('dim', plain) }));
  for (const line of formatTable(top, rows, screen.columns)) screen.line(line);
}
