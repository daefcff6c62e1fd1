import type { WorkflowDocument } from '../definition/document.js';
import { type Drawing, type DrawnNode, type NodeStates, toDrawing } from './drawing.js';
import { type Cell, layeredLayout, type Layout } from './layered-layout.js';
import { STATUS_COLORS } from './status-colors.js';

const WIDTH = 190;
const HEIGHT = 52;
const GAP_X = 30;
const GAP_Y = 56;
const MARGIN = 24;
/** What a box has room for. */
const LABEL_LENGTH = 26;
const UNKNOWN = { fill: '#ffffff', stroke: '#495057' };

/**
 * A picture (SVG 1.1) of a definition, and of how far a run of it has come: self-contained, without scripts, styles or links, with
 * a title and a description for those who do not see it. The same document and states give the same text.
 */
export function toSvg(document: WorkflowDocument, states?: NodeStates): string {
  const drawing = toDrawing(document, states);
  const layout = layeredLayout(drawing);
  const columns = Math.max(1, ...layout.layers.map((layer) => layer.length));
  const width = 2 * MARGIN + columns * (WIDTH + GAP_X) - GAP_X;
  const height = 2 * MARGIN + Math.max(1, layout.layers.length) * (HEIGHT + GAP_Y) - GAP_Y;
  const places = placesOf(layout, width);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="${escaped(drawing.name)}" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13">`,
    `<title>${escaped(drawing.name)}</title>`,
    `<desc>${escaped(drawing.description)}</desc>`,
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">' +
      '<path d="M0 0 L8 4 L0 8 z" fill="#868e96"/></marker></defs>',
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...toEdges(drawing, places),
    ...drawing.nodes.map((node, index) => toNode(node, places[index] ?? { x: 0, y: 0 })),
    '</svg>',
    '',
  ].join('\n');
}

/** The left upper corner of a box. */
interface Place {
  readonly x: number;
  readonly y: number;
}

function placesOf({ cells, layers }: Layout, width: number): readonly Place[] {
  return cells.map(({ layer, column }: Cell) => {
    const members = layers[layer]?.length ?? 1;
    const left = (width - members * (WIDTH + GAP_X) + GAP_X) / 2;
    return { x: left + column * (WIDTH + GAP_X), y: MARGIN + layer * (HEIGHT + GAP_Y) };
  });
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

function toEdges({ edges }: Drawing, places: readonly Place[]): readonly string[] {
  return edges.map(({ from, to, label }) => {
    const [x1, y1] = [(places[from]?.x ?? 0) + WIDTH / 2, (places[from]?.y ?? 0) + HEIGHT];
    const [x2, y2] = [(places[to]?.x ?? 0) + WIDTH / 2, places[to]?.y ?? 0];
    const bend = GAP_Y * 0.6;
    const path = `<path d="M${x1} ${y1} C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}" fill="none" stroke="#868e96" marker-end="url(#arrow)"/>`;
    if (label === null) return path;
    // Near its beginning, where edges of one node part.
    const [x, y] = [x1 + (x2 - x1) * 0.3, y1 + (y2 - y1) * 0.3 + 4];
    const halo = 'paint-order="stroke" stroke="#ffffff" stroke-width="4"';
    return `${path}<text x="${x}" y="${y}" text-anchor="middle" font-size="11" fill="#495057" ${halo}>${escaped(cut(label))}</text>`;
  });
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
