import { parseJson } from '#platform';

import { extentOf } from '../definition/json.js';
import { LIMITS } from '../definition/limits.js';
import type { NodeData } from '../definition/node-types.js';
import { fillText, parseTemplate } from '../definition/template.js';
import { NodeFailure, type NodeOutcome } from '../engine/node-executor.js';
import { type ContextOf, defineNode } from './define-node.js';
import { handOn } from './settlements.js';
import { lookupOf } from './template-lookup.js';

/** The end of a workflow: composes its output. */
export const outputNode = defineNode({
  type: 'output',
  isPure: (data) => modeOf(data) !== 'synthesis',
  run: (context) => {
    switch (modeOf(context.node.data)) {
      case 'raw':
        return finish(context, fillRaw(context));
      case 'combine':
        return finish(context, combine(context));
      case 'synthesis':
        return synthesize(context);
    }
  },
});

/** In older documents a template without a mode is raw. */
function modeOf({ useRawTemplate, template, mode }: NodeData['output']): 'raw' | 'combine' | 'synthesis' {
  const hasTemplate = template !== undefined && template !== '';
  if (useRawTemplate || (hasTemplate && mode === undefined)) return 'raw';
  return mode ?? 'combine';
}

function fillRaw(context: ContextOf<'output'>): string {
  const { template } = context.node.data;
  if (template === undefined || template === '') return context.input;
  return fillText(parseTemplate(template), lookupOf(context));
}

function combine({ node, view, input }: ContextOf<'output'>): string {
  const { sources, introText, outroText } = node.data;
  const texts =
    sources.length === 0 ? view.earlier.map(({ output }) => output) : sources.map((id) => view.outputs.get(id) ?? '');
  const found = texts.filter((text) => text !== '');
  const body = sources.length === 0 && found.length === 0 ? [input] : found;
  return joined([introText, ...body, outroText].filter((text) => text !== ''));
}

/** The length is checked first, because the same source may occur many times. */
function joined(texts: readonly string[]): string {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length > LIMITS.filledLength)
    throw new NodeFailure(`Node output exceeds ${LIMITS.filledLength} characters`, 'VALIDATION', { isFinal: true });
  return texts.join('\n\n');
}

const DEFAULT_PROMPT = 'Combine what you are given into one coherent document.';

async function synthesize(context: ContextOf<'output'>): Promise<NodeOutcome> {
  const { node, ports, signal } = context;
  const { prompt, model } = node.data.synthesis;
  const conversed = await ports.converse({
    isShown: true,
    model: model ?? null,
    messages: [
      { role: 'system', content: prompt.trim() === '' ? DEFAULT_PROMPT : prompt },
      { role: 'user', content: sourceBlocks(context) },
    ],
    tools: [],
    maxIterations: 1,
    signal,
  });
  return conversed.type === 'waiting' ? conversed : finish(context, conversed.text);
}

function sourceBlocks({ node, graph, view, input }: ContextOf<'output'>): string {
  const { sources } = node.data;
  if (sources.length === 0) return input;
  const block = (source: string): string => {
    const output = view.outputs.get(source) ?? '';
    return `--- Output from ${labelOf(graph, source)} ---\n${output === '' ? '(No output)' : output}`;
  };
  return joined(sources.map(block));
}

/** The label of a node, or of a branch and its node; otherwise the source itself. */
function labelOf({ nodes }: ContextOf<'output'>['graph'], source: string): string {
  const direct = nodes.get(source);
  if (direct !== undefined) return direct.label;
  let label = source;
  for (let at = source.indexOf(':'); at >= 0; at = source.indexOf(':', at + 1)) {
    const node = nodes.get(source.slice(0, at));
    if (node?.type !== 'parallel') continue;
    const branchId = source.slice(at + 1);
    const branch = node.data.branches.find(({ id }) => id === branchId);
    if (branch !== undefined) return `${node.label} → ${branch.label}`;
    label = `${node.label} → ${branchId}`;
  }
  return label;
}

function finish({ node, view, ports }: ContextOf<'output'>, text: string): NodeOutcome {
  const { format, includeMetadata } = node.data;
  const metadata = () => ({
    nodeChain: view.earlier.map(({ nodeId }) => nodeId),
    timestamp: new Date(ports.now()).toISOString(),
  });
  return handOn(formatOutput(text, format, includeMetadata ? metadata() : null), []);
}

/** The origin of a text. */
interface OutputMetadata {
  /** Ids of the earlier nodes, in execution order. */
  readonly nodeChain: readonly string[];
  /** ISO 8601. */
  readonly timestamp: string;
}

/** Formats a text for an output node, with metadata if the node wants it. */
export function formatOutput(
  text: string,
  format: NodeData['output']['format'],
  metadata: OutputMetadata | null,
): string {
  switch (format) {
    case 'json':
      return toJson(text, metadata);
    case 'markdown':
      if (metadata === null) return text;
      return `---\nnodeChain: [${metadata.nodeChain.join(', ')}]\ntimestamp: ${metadata.timestamp}\n---\n\n${text}`;
    case 'text':
      if (metadata === null) return text;
      return `[Executed: ${metadata.nodeChain.join(' → ')}]\n[Time: ${metadata.timestamp}]\n\n${text}`;
  }
}

/** Indented JSON; compact if the indentation, two characters for each level of each value, could exceed the length of an output. */
function written(value: unknown): string {
  const { depth, values } = extentOf(value, LIMITS.jsonDepth);
  const isLarge = depth > LIMITS.jsonDepth || 2 * depth * values > LIMITS.filledLength;
  return isLarge ? JSON.stringify(value) : JSON.stringify(value, null, 2);
}

function toJson(text: string, metadata: OutputMetadata | null): string {
  const wrapped = (result: unknown): string => written({ result, ...(metadata === null ? {} : { metadata }) });
  try {
    const value: unknown = parseJson(text);
    return metadata === null ? written(value) : wrapped(value);
  } catch {
    return wrapped(text); // not JSON, or nested too deep
  }
}
