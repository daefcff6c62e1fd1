import { parseDocument } from '../document.js';
import { extentOf, memberOf } from '../json.js';
import { LIMITS } from '../limits.js';
import { checkData, fieldFault } from './check-data.js';
import { checkEdges, type SubflowPorts } from './check-edges.js';
import { checkSizes, checkStopPolicy } from './check-limits.js';
import { checkNodes } from './check-nodes.js';
import { checkPlaceholders } from './check-placeholders.js';
import { checkPluginNodes, type PluginNodeTypes } from './check-plugin-nodes.js';
import { checkStructure } from './check-structure.js';
import { checkSubflows } from './check-subflows.js';
import { type Draft, type DraftNode, placeOf, toDraft } from './draft.js';
import { IssueList, type WorkflowIssue } from './issue.js';
import { type SubflowLookup, SubflowShapes } from './subflow-shapes.js';

export interface ValidateOptions {
  /** If true, a known field with a wrong type is an error; otherwise the field counts as absent. */
  readonly strict: boolean;
  /** Names of the existing tools. Absent: tool names are not checked. */
  readonly tools?: ReadonlySet<string>;
  /** Ids, slugs and names of the existing agents. Absent: agents are not checked. */
  readonly agents?: ReadonlySet<string>;
  /** The node types that plugins define. Absent: there are none. */
  readonly pluginNodes?: PluginNodeTypes;
  /** Returns whether the model has a price. Absent: no model has one. */
  readonly isPriced?: (model: string) => boolean;
  /** Returns the stored definitions of subflows; may be called once per id. Absent: subflows are not checked (`NO_REGISTRY`). */
  readonly subflows?: SubflowLookup;
  /** The ids by which subflows could refer to this workflow. Default: the document's `meta.id`. */
  readonly workflowId?: string;
}

/** `isValid`: there are no errors. The report has at most 500 issues of each kind, in the order of the rules. */
export interface Validation {
  readonly isValid: boolean;
  readonly errors: readonly WorkflowIssue[];
  readonly warnings: readonly WorkflowIssue[];
}

/**
 * Reports the problems of a definition, which may be any JSON value of an untrusted client. If the document is too large, or no workflow document,
 * the report contains only that problem. Never throws for a value that `JSON.parse` returned.
 */
export function validateWorkflow(json: unknown, options: ValidateOptions): Validation {
  const issues = new IssueList();
  if (checkEnvelope(json, issues)) checkDocument(json, options, issues);
  return { isValid: issues.errors.length === 0, errors: issues.errors, warnings: issues.warnings };
}

function checkDocument(json: unknown, options: ValidateOptions, issues: IssueList): void {
  const parsed = parseDocument(json);
  if (!parsed.ok) {
    for (const { path, message } of parsed.faults)
      issues.error('DATA_VALIDATION_ERROR', toPlace(json, path), fieldFault(path, message));
    return;
  }
  const draft = toDraft(parsed.document, issues);
  const shapes = options.subflows === undefined ? null : new SubflowShapes(options.subflows);
  const workflowId = options.workflowId ?? parsed.document.meta.id ?? null;
  checkStructure(draft, issues);
  checkEdges(draft, (node) => portsOf(node, shapes), issues);
  checkNodes(draft, issues);
  checkPluginNodes(draft, options.pluginNodes ?? null, issues);
  checkSizes(draft, issues);
  checkPlaceholders(draft, issues);
  checkSubflows(draft, { shapes, workflowId, agents: options.agents ?? null }, issues);
  checkData(draft, parsed.faults, { strict: options.strict, issues });
  checkStopPolicy(draft, options.isPriced ?? null, issues);
  if (options.agents !== undefined) checkAgents(draft, options.agents, issues);
  if (options.tools !== undefined) checkTools(draft, options.tools, issues);
}

/** Names the node or edge that has the problem, if it has a name. */
function toPlace(json: unknown, path: readonly PropertyKey[]): { path: readonly PropertyKey[]; nodeId?: string } {
  const [list, index] = path;
  const nodes = memberOf(json, 'nodes');
  const id = list === 'nodes' && Array.isArray(nodes) ? memberOf(nodes[Number(index)], 'id') : undefined;
  return typeof id === 'string' ? { path, nodeId: id.slice(0, 200) } : { path };
}

function portsOf(node: DraftNode, shapes: SubflowShapes | null): SubflowPorts | null {
  if (node.type !== 'subflow' || shapes === null || node.data.subflowId === '') return null;
  const shape = shapesOf(shapes, node.data.subflowId);
  if (shape === null) return null;
  return { inputs: shape.inputs.map(({ id }) => id), outputs: shape.outputs.map(({ id }) => id) };
}

/** The rule about subflows reports a lookup that fails. */
function shapesOf(shapes: SubflowShapes, subflowId: string): ReturnType<SubflowShapes['get']> {
  try {
    return shapes.get(subflowId);
  } catch {
    return null;
  }
}

/** Checks the size and the version of the document, which needs no parsing. Returns false if validation must stop here. */
function checkEnvelope(json: unknown, issues: IssueList): boolean {
  const { depth, values } = extentOf(json, LIMITS.jsonDepth);
  if (depth > LIMITS.jsonDepth)
    issues.error('LIMIT_EXCEEDED', { path: [] }, `The document is nested deeper than ${LIMITS.jsonDepth} levels.`);
  else if (bytesOf(json) > LIMITS.documentBytes)
    issues.error('LIMIT_EXCEEDED', { path: [] }, `The document is larger than ${LIMITS.documentBytes} bytes.`);
  else {
    checkCount(json, 'nodes', issues);
    checkCount(json, 'edges', issues);
    checkVersion(memberOf(memberOf(json, 'meta'), 'version'), issues);
    if (issues.errors.length === 0 && values > LIMITS.values)
      issues.error('LIMIT_EXCEEDED', { path: [] }, `The document has more than ${LIMITS.values} values.`);
  }
  return issues.errors.length === 0;
}

function bytesOf(json: unknown): number {
  const text: unknown = JSON.stringify(json); // undefined for a value that JSON cannot express
  return typeof text === 'string' ? Buffer.byteLength(text) : 0;
}

function checkCount(json: unknown, name: 'nodes' | 'edges', issues: IssueList): void {
  const list = memberOf(json, name);
  if (!Array.isArray(list) || list.length <= LIMITS[name]) return;
  const message = `The workflow has ${list.length} ${name}, and ${LIMITS[name]} are allowed. Move parts of it into subflows.`;
  issues.error('LIMIT_EXCEEDED', { path: [name] }, message);
}

function checkVersion(version: unknown, issues: IssueList): void {
  if (typeof version !== 'string' || /^2(\.|$)/.test(version)) return;
  const message = `Version "${version.slice(0, 50)}" of the format is not supported; this server reads 2.x.`;
  issues.error('UNSUPPORTED_VERSION', { path: ['meta', 'version'] }, message);
}

/** Reports nodes that name an unknown agent, because such a node cannot run. */
function checkAgents(draft: Draft, known: ReadonlySet<string>, issues: IssueList): void {
  for (const node of draft.nodes.values()) {
    if (node.type !== 'agent' || node.data.agent === undefined || known.has(node.data.agent)) continue;
    const name = node.data.agent.slice(0, 200);
    issues.error('AGENT_NOT_FOUND', placeOf(node, 'data', 'agent'), `This workspace has no agent "${name}".`);
  }
}

/** Reports unknown tools: an agent does not get them, and a tool node that names one fails. */
function checkTools(draft: Draft, known: ReadonlySet<string>, issues: IssueList): void {
  const isKnown = (name: string): boolean => name === '' || name === '*' || known.has(name);
  for (const [index, name] of draft.document.meta.tools.entries())
    if (!isKnown(name)) issues.warning('UNKNOWN_TOOL', { path: ['meta', 'tools', index] }, unknownTool(name));
  for (const node of draft.nodes.values()) {
    if (node.type === null) continue;
    for (const { name, path } of namesOf(node))
      if (!isKnown(name)) issues.warning('UNKNOWN_TOOL', placeOf(node, 'data', ...path), unknownTool(name));
  }
}

function unknownTool(name: string): string {
  return `This workspace has no tool "${name.slice(0, 200)}".`;
}

interface ToolName {
  readonly name: string;
  readonly path: readonly PropertyKey[];
}

function namesOf(node: DraftNode): readonly ToolName[] {
  if (node.type === 'tool') return [{ name: node.data.toolId, path: ['toolId'] }];
  if (node.type === 'agent') return node.data.tools.map((name, index) => ({ name, path: ['tools', index] }));
  if (node.type !== 'parallel') return [];
  return node.data.branches.flatMap(({ tools }, branch) =>
    tools.map((name, index) => ({ name, path: ['branches', branch, 'tools', index] })),
  );
}
