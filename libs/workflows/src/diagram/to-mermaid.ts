import type { WorkflowDocument } from '../definition/document.js';
import { type DrawnEdge, type DrawnNode, type NodeStates, toDrawing } from './drawing.js';
import { STATUS_COLORS } from './status-colors.js';

/** The shapes of node types; all other types are boxes. */
const SHAPES: ReadonlyMap<string, readonly [open: string, close: string]> = new Map([
  ['start', ['([', '])']],
  ['output', ['([', '])']],
  ['router', ['{', '}']],
  ['condition', ['{', '}']],
  ['parallel', ['[/', '/]']],
  ['whileLoop', ['{{', '}}']],
  ['map', ['{{', '}}']],
  ['subflow', ['[[', ']]']],
  ['approval', ['(', ')']],
  ['input', ['(', ')']],
]);
const BOX = ['[', ']'] as const;

/**
 * A Mermaid flowchart of a definition, and of how far a run of it has come. Faults are drawn as they are. The same document and
 * states give the same text.
 */
export function toMermaid(document: WorkflowDocument, states?: NodeStates): string {
  const { name, nodes, edges, description } = toDrawing(document, states);
  return [
    'flowchart TD',
    `  accTitle: ${plain(name)}`,
    `  accDescr: ${plain(description)}`,
    ...nodes.map((node, index) => `  ${toNode(node, index)}`),
    ...edges.map((edge) => `  ${toEdge(edge)}`),
    ...toClasses(nodes).map((line) => `  ${line}`),
    '',
  ].join('\n');
}

function toNode({ label, type, status }: DrawnNode, index: number): string {
  const [open, close] = SHAPES.get(type) ?? BOX;
  const second = status === null ? type : `${type}, ${status}`;
  return `n${index}${open}"${escaped(label)}<br/>${escaped(second)}"${close}`;
}

function toEdge({ from, to, label }: DrawnEdge): string {
  return label === null ? `n${from} --> n${to}` : `n${from} -->|"${escaped(label)}"| n${to}`;
}

function toClasses(nodes: readonly DrawnNode[]): readonly string[] {
  return Object.entries(STATUS_COLORS).flatMap(([status, { fill, stroke }]) => {
    const members = nodes.flatMap((node, index) => (node.status === status ? [`n${index}`] : []));
    if (members.length === 0) return [];
    return [`classDef ${status} fill:${fill},stroke:${stroke},color:#1a1b1e`, `class ${members.join(',')} ${status}`];
  });
}

/**
 * Replaces everything but letters, digits and harmless signs: quotes end a label, `%%{` begins a directive anywhere, and backticks, stars and dots
 * are Markdown.
 */
function escaped(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N} ,:!?()/'=@]/gu, (sign) => `#${sign.codePointAt(0) ?? 0};`);
}

/** This part of the syntax has no escapes. */
function plain(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N} ,.:!?()'-]/gu, ' ');
}
