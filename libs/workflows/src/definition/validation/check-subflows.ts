import { LIMITS } from '../limits.js';
import { toPath } from './check-structure.js';
import { type Draft, type DraftNode, placeOf } from './draft.js';
import type { IssueList } from './issue.js';
import type { SubflowShapes } from './subflow-shapes.js';

type SubflowNode = Extract<DraftNode, { type: 'subflow' }>;

interface Terms {
  readonly shapes: SubflowShapes | null;
  readonly workflowId: string | null;
  readonly agents: ReadonlySet<string> | null;
}

/**
 * Subflows exist, get what they need, name agents that exist, and end. `shapes`, `agents`: null when the definitions or the names
 * of agents are not available. `workflowId`: the id by which subflows refer to this workflow, if it has one.
 */
export function checkSubflows(draft: Draft, terms: Terms, issues: IssueList): void {
  for (const node of draft.nodes.values()) {
    if (node.type !== 'subflow') continue;
    if (node.data.subflowId === '')
      issues.error('MISSING_SUBFLOW_ID', placeOf(node, 'data', 'subflowId'), `Node "${node.id}" names no subflow.`);
    else if (terms.shapes === null)
      issues.warning(
        'NO_REGISTRY',
        placeOf(node),
        `Whether the subflow of node "${node.id}" exists is not known here.`,
      );
    else tried(node, { ...terms, shapes: terms.shapes }, issues);
  }
}

type Known = Terms & { readonly shapes: SubflowShapes };

/** The definitions come from outside this document; a lookup that fails is reported as an issue. */
function tried(node: SubflowNode, known: Known, issues: IssueList): void {
  try {
    checkSubflow(node, known, issues);
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 200) : 'unknown';
    issues.error('EXTENSION_VALIDATION_ERROR', placeOf(node), `Node "${node.id}" could not be checked: ${reason}`);
  }
}

function checkSubflow(node: SubflowNode, known: Known, issues: IssueList): void {
  const { shapes, workflowId } = known;
  const { subflowId, inputMappings } = node.data;
  const shape = subflowId === workflowId ? null : shapes.get(subflowId);
  if (subflowId !== workflowId && shape === null) {
    const message = `Node "${node.id}" uses the subflow "${subflowId.slice(0, 200)}", which is not published: publish that workflow first.`;
    issues.error('SUBFLOW_NOT_FOUND', placeOf(node, 'data', 'subflowId'), message);
    return;
  }
  checkNesting(node, known, issues);
  checkAgentsBehind(node, known, issues);
  for (const input of shape?.inputs ?? []) {
    const mapping = Object.hasOwn(inputMappings, input.id) ? inputMappings[input.id] : undefined;
    if (!input.required || (input.default ?? mapping ?? null) !== null) continue;
    const message = `Node "${node.id}" gives nothing to the input "${input.id}" of its subflow; map it.`;
    issues.error('MISSING_INPUT_MAPPING', placeOf(node, 'data', 'inputMappings'), message);
  }
  if (shape?.outputs.length === 0)
    issues.warning('NO_SUBFLOW_OUTPUTS', placeOf(node), `The subflow of node "${node.id}" declares no output.`);
}

/** Without its agent, a node would run without the approvals that the agent requires. */
function checkAgentsBehind(node: SubflowNode, { shapes, workflowId, agents }: Known, issues: IssueList): void {
  if (agents === null) return;
  for (const name of shapes.agentsOf(node.data.subflowId, workflowId)) {
    if (name === '' || agents.has(name)) continue;
    const message = `The subflow of node "${node.id}" names the agent "${name.slice(0, 200)}", which does not exist here.`;
    issues.error('AGENT_NOT_FOUND', placeOf(node, 'data', 'subflowId'), message);
  }
}

function checkNesting(node: SubflowNode, { shapes, workflowId }: Known, issues: IssueList): void {
  const nesting = shapes.nesting(node.data.subflowId, workflowId);
  const place = placeOf(node, 'data', 'subflowId');
  if (nesting.type === 'circle')
    issues.error('CYCLE_DETECTED', place, `Subflows use each other in a circle: ${toPath(nesting.ids)}.`);
  else if (nesting.type === 'too_many')
    issues.error('LIMIT_EXCEEDED', place, `More than ${LIMITS.subflows} subflows are used, one inside of the other.`);
  else if (nesting.depth > LIMITS.subflowDepth)
    issues.error('LIMIT_EXCEEDED', place, `Subflows are nested deeper than ${LIMITS.subflowDepth} levels.`);
}
