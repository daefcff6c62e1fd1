import { parseJsonPath } from '#integrations';
import { celSize, compileExpression } from '#tools';

import { LIMITS } from '../limits.js';
import { namesIn, parseTemplate } from '../template.js';
import { checkSchema } from './check-schema.js';
import { type DraftNode, placeOf } from './draft.js';
import type { IssueList } from './issue.js';

type OwnNode = Extract<DraftNode, { type: 'approval' | 'input' | 'wait' | 'http' | 'transform' | 'map' }>;
/** The field with the problem; null: the node as a whole. */
type Report = (field: string | null, message: string) => void;

interface Reporting {
  readonly report: Report;
  readonly issues: IssueList;
}

/** The rules for our own node types, beyond the types of their fields. */
export function checkOwnNode(node: OwnNode, issues: IssueList): void {
  const report: Report = (field, message) => {
    issues.error('DATA_VALIDATION_ERROR', placeOf(node, 'data', ...(field === null ? [] : [field])), message);
  };
  switch (node.type) {
    case 'approval':
      checkSchema(node, ['inputSchema'], issues);
      return;
    case 'input':
      checkSchema(node, ['schema'], issues);
      return;
    case 'wait':
      checkWait(node, report);
      return;
    case 'http':
      checkHttp(node, report);
      return;
    case 'transform':
      checkExpression(node.data.expression, 'expression', { report, issues });
      return;
    case 'map':
      if (node.data.items !== undefined && !isTemplate(node.data.items))
        checkExpression(node.data.items, 'items', { report, issues });
  }
}

function isTemplate(text: string): boolean {
  return namesIn(parseTemplate(text)).length > 0;
}

function checkExpression(source: string, field: string, { report, issues }: Reporting): void {
  issues.expressionsSize += celSize(source);
  if (issues.expressionsSize > LIMITS.expressionsSize) {
    report(field, `The expressions of the workflow are larger than ${LIMITS.expressionsSize} characters together.`);
    return;
  }
  const compiled = compileExpression(source);
  if (!compiled.ok) report(field, `The expression ${compiled.problem}.`);
}

function checkWait({ id, data }: Extract<OwnNode, { type: 'wait' }>, report: Report): void {
  const given = [data.durationMs, data.until, data.event].filter((field) => field !== undefined);
  if (given.length !== 1) report(null, `Node "${id}" needs one of durationMs, until and event.`);
  if (data.until !== undefined && !isTemplate(data.until) && !isInstant(data.until))
    report('until', `Node "${id}" needs an instant (ISO 8601) or a template in until.`);
}

function isInstant(text: string): boolean {
  return /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:?\d\d)?)?$/.test(text) && !Number.isNaN(Date.parse(text));
}

function checkHttp({ id, data }: Extract<OwnNode, { type: 'http' }>, report: Report): void {
  if (!isTemplate(data.url) && !/^https?:$/.test(URL.parse(data.url)?.protocol ?? ''))
    report('url', `Node "${id}" needs an http(s) address or a template in url.`);
  if (Object.values(data.headers).some((value) => typeof value !== 'string'))
    report('headers', `The headers of node "${id}" must be texts.`);
  const path = data.select === undefined ? null : parseJsonPath(data.select);
  if (typeof path === 'string') report('select', `The JSONPath of node "${id}" is wrong: ${path}`);
}
