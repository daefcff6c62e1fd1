import type { WorkflowDocument } from '../definition/document.js';
import { type Drawing, type DrawnNode, type NodeStates, toDrawing } from './drawing.js';
import { type Cell, layeredLayout, type Layout } from './layered-layout.js';
import { STATUS_COLORS } from './status-colors.js';

const WIDTH = 190;
const HEIGHT = 52;
const GAP_X = 30;
const GAP_Y = 56;
const MARGIN = 24;
/** The number of characters that fit into a box. */
const LABEL_LENGTH = 26;
const UNKNOWN = { fill: '#ffffff', stroke: '#495057' };

/**
 * A picture (SVG 1.1) of a definition, and of how far a run of it has come: self-contained, without scripts, styles or links, with
 * a title and a description for those who do not see it. The same document and states give the same text.
 */
export function toSvg(document: WorkflowDocument, states?: NodeStates): string {
  const drawing = toDrawing(document, states);
  const layout = layeredLayout(drawing);
  const columns = Math.max(1, ...layout.widths);
  const width = 2 * MARGIN + columns * (WIDTH + GAP_X) - GAP_X;
  const height = 2 * MARGIN + Math.max(1, layout.widths.length) * (HEIGHT + GAP_Y) - GAP_Y;
  const placeOf = (cell: Cell): Place => toPlace(cell, layout.widths, width);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="${escaped(drawing.name)}" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13">`,
    `<title>${escaped(drawing.name)}</title>`,
    `<desc>${escaped(drawing.description)}</desc>`,
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">' +
      '<path d="M0 0 L8 4 L0 8 z" fill="#868e96"/></marker></defs>',
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...toEdges(drawing, layout, placeOf),
    ...drawing.nodes.flatMap((node, index) =>
      layout.cells.slice(index, index + 1).map((cell) => toNode(node, placeOf(cell))),
    ),
    '</svg>',
    '',
  ].join('\n');
}

/** The left upper corner of a box. */
interface Place {
  readonly x: number;
  readonly y: number;
}

function toPlace({ layer, column }: Cell, widths: readonly number[], width: number): Place {
  const left = (width - (widths[layer] ?? 1) * (WIDTH + GAP_X) + GAP_X) / 2;
  return { x: left + column * (WIDTH + GAP_X), y: MARGIN + layer * (HEIGHT + GAP_Y) };
}

function toNode({ label, type, status }: DrawnNode, { x, y }: Place): string {
  const { fill, stroke } = status === null ? UNKNOWN : STATUS_COLORS[status];
  const second = status === null ? type : `${type} · ${status}`;
  const isFaint = status === 'skipped' || status === 'pending';
  const middle = x + WIDTH / 2;
  return (
    `<g><title>${escaped(`${label} (${second})`)}</title>` +
    `<rect x="${x}" y="${y}" width="${WIDTH}" height="${HEIGHT}" rx="8" fill="${fill}" stroke="${stroke}" stroke-width="2"` +
    `${isFaint ? ' stroke-dasharray="5 4"' : ''}/>` +
    `<text x="${middle}" y="${y + 22}" text-anchor="middle" fill="#1a1b1e">${escaped(cut(label))}</text>` +
    `<text x="${middle}" y="${y + 40}" text-anchor="middle" font-size="11" fill="#495057">${escaped(cut(second))}</text></g>`
  );
}

/** Edges between the same two nodes are one line with all their labels. */
function toEdges({ edges }: Drawing, { cells, ways }: Layout, placeOf: (cell: Cell) => Place): readonly string[] {
  const lines = new Map<string, { readonly stops: readonly Place[]; readonly labels: string[] }>();
  for (const [index, { from, to, label }] of edges.entries()) {
    const stops = [cells[from], ...(ways[index] ?? []), cells[to]].filter((cell) => cell !== undefined).map(placeOf);
    const line = lines.get(`${from} ${to}`) ?? { stops, labels: [] };
    lines.set(`${from} ${to}`, line);
    if (label !== null && !line.labels.includes(label)) line.labels.push(label);
  }
  return [...lines.values()].map(({ stops, labels }) => toLine(stops, labels.join(', ')));
}

/** From the bottom of a box through the middle of cells to the top of another. */
function toLine(stops: readonly Place[], label: string): string {
  const [first, ...rest] = stops.map(({ x, y }) => ({ x: x + WIDTH / 2, y }));
  const next = rest[0];
  if (first === undefined || next === undefined) return '';
  let [x, y] = [first.x, first.y + HEIGHT];
  let path = `M${x} ${y}`;
  for (const [index, stop] of rest.entries()) {
    const bend = GAP_Y * 0.6;
    path += ` C${x} ${y + bend} ${stop.x} ${stop.y - bend} ${stop.x} ${stop.y}`;
    if (index < rest.length - 1) path += ` V${stop.y + HEIGHT}`;
    [x, y] = [stop.x, stop.y + HEIGHT];
  }
  const line = `<path d="${path}" fill="none" stroke="#868e96" marker-end="url(#arrow)"/>`;
  if (label === '') return line;
  // Near its beginning, where edges of one node part.
  const place = `x="${first.x + (next.x - first.x) * 0.3}" y="${first.y + HEIGHT + (next.y - first.y - HEIGHT) * 0.3 + 4}"`;
  const halo = 'paint-order="stroke" stroke="#ffffff" stroke-width="4"';
  return `${line}<text ${place} text-anchor="middle" font-size="11" fill="#495057" ${halo}>${escaped(cut(label))}</text>`;
}

function cut(text: string): string {
  const characters = Array.from(text);
  return characters.length <= LABEL_LENGTH ? text : `${characters.slice(0, LABEL_LENGTH - 1).join('')}…`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For texts and attributes. What XML 1.0 does not allow at all (2.2, Char) becomes U+FFFD. */
function escaped(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] ?? '');
}
