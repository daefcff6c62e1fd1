import { memberOf } from '../json.js';
import { LIMITS } from '../limits.js';
import type { NodeType } from '../node-types.js';
import { type Draft, type DraftNode, placeOf } from './draft.js';
import type { IssueList } from './issue.js';

/** The texts in which nodes ask people. Each request stores a copy, and lists show many requests. */
const QUESTIONS: Partial<Record<NodeType, readonly string[]>> = {
  approval: ['prompt', 'options', 'inputSchema'],
  input: ['prompt', 'schema'],
  agent: ['hitl'],
  router: ['hitl'],
};

/** Limits the texts that every run of a node stores again, whatever the size limit of the document is. */
export function checkSizes(draft: Draft, issues: IssueList): void {
  for (const node of draft.nodes.values()) {
    if (node.type === null) continue;
    checkLabel(node, issues);
    checkBranches(node, issues);
    checkQuestion(node, node.type, issues);
  }
}

function checkLabel(node: DraftNode, issues: IssueList): void {
  const { label = '' } = node.data;
  if (label.length > LIMITS.labelLength)
    tooLong(node, { field: 'label', what: 'label', max: LIMITS.labelLength }, issues);
}

function checkBranches(node: DraftNode, issues: IssueList): void {
  if (node.type !== 'parallel') return;
  const max = LIMITS.labelLength;
  const isLong = node.data.branches.some(({ id, label }) => id.length > max || label.length > max);
  if (isLong) tooLong(node, { field: 'branches', what: 'id or label of a branch', max }, issues);
}

function checkQuestion(node: DraftNode, type: NodeType, issues: IssueList): void {
  for (const field of QUESTIONS[type] ?? []) {
    const text: unknown = JSON.stringify(memberOf(node.raw, field)); // undefined for what is not there
    const length = typeof text === 'string' ? text.length : 0;
    if (length > LIMITS.questionLength) tooLong(node, { field, what: 'question', max: LIMITS.questionLength }, issues);
  }
}

interface TooLong {
  readonly field: string;
  readonly what: string;
  readonly max: number;
}

function tooLong(node: DraftNode, { field, what, max }: TooLong, issues: IssueList): void {
  const message = `The ${what} of node "${node.id}" is longer than ${max} characters.`;
  issues.error('LIMIT_EXCEEDED', placeOf(node, 'data', field), message);
}

/** Warns when a cost limit cannot be enforced because the prices of the models are unknown. */
export function checkStopPolicy(
  { document }: Draft,
  isPriced: ((model: string) => boolean) | null,
  issues: IssueList,
): void {
  if (document.meta.execution.stopPolicy.maxCostUsd === undefined) return;
  const path = ['meta', 'execution', 'stopPolicy', 'maxCostUsd'];
  if (isPriced === null) {
    const message = 'The cost of a run is not watched: this server knows no prices (MODEL_PRICES). Use maxTokens.';
    issues.warning('LIMIT_IGNORED', { path }, message);
    return;
  }
  const named = new Set(document.nodes.flatMap(({ data }) => modelsOf(data)));
  const unknown = [...named].filter((model) => !isPriced(model));
  if (unknown.length === 0) return;
  const message = `It is not known what these models cost, so it does not count: ${unknown.join(', ')}.`;
  issues.warning('LIMIT_IGNORED', { path }, message.slice(0, longestMessage));
}

const longestMessage = 1_000;

/** The models that nodes name. A node without one uses the default model of the workspace. */
function modelsOf(data: unknown): readonly string[] {
  const branches: unknown = memberOf(data, 'branches');
  const asked: readonly unknown[] = Array.isArray(branches) ? branches : [];
  const places = [data, memberOf(data, 'synthesis'), ...asked];
  const names = [...places.map((place) => memberOf(place, 'model')), memberOf(data, 'conditionModel')];
  return names.filter((name) => typeof name === 'string').filter((name) => name !== '');
}
