import { memberOf } from '../json.js';
import { LIMITS } from '../limits.js';
import type { NodeType } from '../node-types.js';
import { namesIn, parseTemplate } from '../template.js';
import { checkOwnNode } from './check-own-nodes.js';
import { checkSchema } from './check-schema.js';
import { type BrokenNode, type Draft, type DraftNode, placeOf } from './draft.js';
import type { IssueList } from './issue.js';

type NodeOf<T extends NodeType> = Extract<DraftNode, { type: T }>;

/** The rules for the nodes of each type. */
export function checkNodes(draft: Draft, issues: IssueList): void {
  for (const node of draft.nodes.values()) {
    checkDeadEnd(node, issues);
    if (node.type === null) checkBroken(node, issues);
    else tried(node, issues);
  }
}

/** If a rule throws for one node, the other nodes are still checked. */
function tried(node: DraftNode, issues: IssueList): void {
  try {
    checkHitl(node, issues);
    checkNode(node, issues);
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 200) : 'unknown';
    issues.error('EXTENSION_VALIDATION_ERROR', placeOf(node), `Node "${node.id}" could not be checked: ${reason}`);
  }
}

function checkBroken(node: BrokenNode, issues: IssueList): void {
  if (node.knownAs !== null) return; // checkData reports missing fields together with the other problems of the data
  const message = `Node "${node.id}" has the type "${node.name}", which this server does not have.`;
  issues.error('UNKNOWN_NODE_TYPE', placeOf(node, 'type'), message);
}

function checkDeadEnd(node: DraftNode | BrokenNode, issues: IssueList): void {
  const type = node.type ?? node.knownAs; // a node without a type is reported as broken
  if (type === 'start' || type === 'output' || node.outgoing.length > 0) return;
  issues.warning('DEAD_END_NODE', placeOf(node), `Nothing follows node "${node.id}".`);
}

function checkHitl(node: DraftNode, issues: IssueList): void {
  if (node.type === 'agent' || node.type === 'router') {
    const { hitl } = node.data;
    if (hitl?.inputSchema !== undefined) checkSchema(node, ['hitl', 'inputSchema'], issues);
  } else if (memberOf(memberOf(node.raw, 'hitl'), 'enabled') === true)
    issues.warning(
      'HITL_IGNORED',
      placeOf(node, 'data', 'hitl'),
      `Node "${node.id}" ignores "hitl": only agents and routers use it. Put an approval node before this node.`,
    );
}

function checkNode(node: DraftNode, issues: IssueList): void {
  switch (node.type) {
    case 'start':
      return;
    case 'agent':
      checkAgent(node, issues);
      return;
    case 'router':
      checkRouter(node, issues);
      return;
    case 'parallel':
      checkParallel(node, issues);
      return;
    case 'whileLoop':
      checkLoop(node, issues);
      return;
    case 'subflow':
      checkEnds(node, issues);
      return;
    case 'output':
      checkOutput(node, issues);
      return;
    case 'tool':
      if (node.data.toolId === '')
        issues.error('MISSING_REQUIRED_PORT', placeOf(node, 'data', 'toolId'), `Node "${node.id}" names no tool.`);
      return;
    case 'memory':
      checkMemory(node, issues);
      return;
    case 'schemaValidation':
      checkSchema(node, ['spec'], issues);
      return;
    case 'map':
      checkBody(node, issues);
      checkOwnNode(node, issues);
      return;
    case 'approval':
    case 'input':
    case 'wait':
    case 'http':
    case 'transform':
      checkOwnNode(node, issues);
      return;
    case 'plugin': // against its plugin, by checkPluginNodes
  }
}

function checkAgent(node: NodeOf<'agent'>, issues: IssueList): void {
  const { model, prompt, agent } = node.data;
  if (agent !== undefined) return; // the agent has the settings that the node leaves out
  if (model.trim() === '')
    issues.error('MISSING_MODEL', placeOf(node, 'data', 'model'), `Agent "${node.id}" has no model; choose one.`);
  if (prompt.trim() === '')
    issues.warning('EMPTY_PROMPT', placeOf(node, 'data', 'prompt'), `Agent "${node.id}" has no prompt.`);
}

function checkRouter(node: NodeOf<'router'>, issues: IssueList): void {
  const hasRoute = node.outgoing.some(({ sourceHandle }) => sourceHandle !== 'error' && sourceHandle !== 'rejected');
  if (!hasRoute)
    issues.error('MISSING_REQUIRED_PORT', placeOf(node), `Router "${node.id}" has no route; connect at least one.`);
}

function checkParallel(node: NodeOf<'parallel'>, issues: IssueList): void {
  const { branches, mergeEnabled, prompt } = node.data;
  const isTaken = (handle: string): boolean => node.outgoing.some(({ sourceHandle }) => sourceHandle === handle);
  const written = memberOf(node.raw, 'branches');
  if (Array.isArray(written) && written.length > LIMITS.branches)
    issues.error(
      'LIMIT_EXCEEDED',
      placeOf(node, 'data', 'branches'),
      `Node "${node.id}" has ${written.length} branches, and ${LIMITS.branches} are allowed.`,
    );
  checkBranchIds(node, issues);
  if (branches.length < 2)
    issues.warning('DEAD_END_NODE', placeOf(node, 'data', 'branches'), `Node "${node.id}" has less than two branches.`);
  if (mergeEnabled && node.outgoing.length > 0 && !isTaken('merged'))
    issues.warning('DEAD_END_NODE', placeOf(node), `Nothing follows the merged text of node "${node.id}".`);
  if (mergeEnabled && prompt.trim() === '')
    issues.warning('EMPTY_PROMPT', placeOf(node, 'data', 'prompt'), `Node "${node.id}" merges without a prompt.`);
  for (const { id, label } of mergeEnabled ? [] : branches.slice(0, LIMITS.branches))
    if (!isTaken(id))
      issues.warning('MISSING_EDGE_LABEL', placeOf(node), `Nothing follows branch "${label}" of node "${node.id}".`);
}

/** A branch's id distinguishes its conversation with the model from those of the node's other branches. */
function checkBranchIds(node: NodeOf<'parallel'>, issues: IssueList): void {
  const seen = new Set(['merged', '__merge__', 'error']);
  for (const { id } of node.data.branches) {
    if (seen.has(id))
      issues.error(
        'DATA_VALIDATION_ERROR',
        placeOf(node, 'data', 'branches'),
        `Branch id "${id.slice(0, 200)}" of node "${node.id}" is used already; give each its own.`,
      );
    seen.add(id);
  }
}

function checkLoop(node: NodeOf<'whileLoop'>, issues: IssueList): void {
  const { loopMode, conditionPrompt } = node.data;
  const iterations = memberOf(node.raw, 'maxIterations');
  if (loopMode === 'condition' && conditionPrompt.trim() === '')
    issues.error(
      'MISSING_CONDITION_PROMPT',
      placeOf(node, 'data', 'conditionPrompt'),
      `Loop "${node.id}" has no condition prompt; write one, or choose a fixed number of iterations.`,
    );
  if (iterations !== undefined && node.data.maxIterations !== iterations)
    issues.error(
      'INVALID_MAX_ITERATIONS',
      placeOf(node, 'data', 'maxIterations'),
      `The iterations of loop "${node.id}" must be a whole number from 1 to ${LIMITS.loopIterations}.`,
    );
  checkBody(node, issues);
}

function checkBody(node: NodeOf<'whileLoop' | 'map'>, issues: IssueList): void {
  const isTaken = (handle: string | null): boolean => node.outgoing.some(({ sourceHandle }) => sourceHandle === handle);
  if (!isTaken('body')) issues.warning('MISSING_BODY', placeOf(node), `Node "${node.id}" has no body; connect one.`);
  if (!isTaken('done') && !isTaken(null))
    issues.warning('MISSING_EXIT', placeOf(node), `Nothing follows node "${node.id}" when it is done.`);
}

/** The input and output of a subflow are not required. */
function checkEnds(node: NodeOf<'subflow' | 'output'>, issues: IssueList): void {
  if (node.incoming.length === 0) issues.warning('NO_INPUT', placeOf(node), `Nothing leads to node "${node.id}".`);
  if (node.type === 'subflow' && node.outgoing.length === 0)
    issues.warning('NO_OUTPUT', placeOf(node), `Nothing follows node "${node.id}".`);
  if (node.type === 'output' && node.outgoing.length > 0)
    issues.warning('NO_OUTPUT', placeOf(node), `Node "${node.id}" is an output: nothing that follows it is run.`);
}

function checkOutput(node: NodeOf<'output'>, issues: IssueList): void {
  const { format, useRawTemplate, template } = node.data;
  if (memberOf(node.raw, 'format') !== format)
    issues.error(
      'MISSING_REQUIRED_PORT',
      placeOf(node, 'data', 'format'),
      `Output "${node.id}" needs a format: text, json or markdown.`,
    );
  checkEnds(node, issues);
  if (!useRawTemplate || template === undefined || template === '') return;
  if (namesIn(parseTemplate(template)).length === 0)
    issues.warning(
      'EMPTY_PROMPT',
      placeOf(node, 'data', 'template'),
      `The template of "${node.id}" has no {{placeholder}}.`,
    );
}

function checkMemory(node: NodeOf<'memory'>, issues: IssueList): void {
  const operation = memberOf(node.raw, 'operation');
  const limit = memberOf(node.raw, 'limit') ?? memberOf(node.raw, 'topK');
  if (operation !== undefined && operation !== node.data.operation)
    issues.error(
      'MISSING_OPERATION',
      placeOf(node, 'data', 'operation'),
      `Memory node "${node.id}" needs an operation: query or store.`,
    );
  if (limit !== undefined && limit !== node.data.limit)
    issues.error(
      'INVALID_LIMIT',
      placeOf(node, 'data', 'limit'),
      `The limit of memory node "${node.id}" must be a whole number from 1.`,
    );
}
