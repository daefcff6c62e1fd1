import { isOwnType } from '../node-types.js';
import type { Fault } from '../read-tolerantly.js';
import { type BrokenNode, type Draft, type DraftNode, placeOf } from './draft.js';
import type { IssueList } from './issue.js';

/** Fields with a rule and an issue code of their own. */
const OWN_RULES: ReadonlySet<string> = new Set([
  'agent.model',
  'output.format',
  'tool.toolId',
  'subflow.subflowId',
  'whileLoop.maxIterations',
  'whileLoop.conditionPrompt',
  'memory.operation',
  'memory.limit',
]);
/** Only Nightshift has these types, so no older documents need leniency, and no limit of a run may be dropped silently. */
const STRICT_META: ReadonlySet<PropertyKey> = new Set(['tools', 'compat', 'subflow', 'execution']);

/**
 * Reports fields of a wrong type. Without `strict` they count as absent, except in our own node types and in prompts for people, where an absent
 * field would be dangerous.
 */
export function checkData(
  draft: Draft,
  metaFaults: readonly Fault[],
  terms: { strict: boolean; issues: IssueList },
): void {
  const { strict, issues } = terms;
  for (const { path, message } of metaFaults)
    if (strict || STRICT_META.has(path[1] ?? ''))
      issues.error('DATA_VALIDATION_ERROR', { path }, fieldFault(path, message));
  for (const node of draft.nodes.values())
    for (const { path, message } of node.faults) {
      if (!isReported(node, path, strict)) continue;
      const written = asWritten(node, path);
      const text = fieldFault(written, message, node.id);
      issues.error('DATA_VALIDATION_ERROR', placeOf(node, 'data', ...written), text);
    }
}

/** A sentence about a field of the document, or of a node's data. */
export function fieldFault(path: readonly PropertyKey[], message: string, nodeId?: string): string {
  if (path.length === 0) return `The document ${message}.`;
  const place = nodeId === undefined ? '' : ` of node "${nodeId}"`;
  return `The field "${path.map(String).join('.').slice(0, 200)}"${place} ${message}.`;
}

function isReported(node: DraftNode | BrokenNode, path: readonly PropertyKey[], strict: boolean): boolean {
  const type = node.type ?? node.knownAs; // a node without a type is reported as broken
  if (type === null || (path.length === 1 && OWN_RULES.has(`${type}.${String(path[0])}`))) return false;
  return strict || path[0] === 'hitl' || (isOwnType(type) && path[0] !== 'label');
}

/** A tool's arguments have two names. */
function asWritten({ raw }: DraftNode | BrokenNode, path: readonly PropertyKey[]): readonly PropertyKey[] {
  const [first, ...rest] = path;
  return first === 'config' && !Object.hasOwn(raw, 'config') ? ['arguments', ...rest] : path;
}
