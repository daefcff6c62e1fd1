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
