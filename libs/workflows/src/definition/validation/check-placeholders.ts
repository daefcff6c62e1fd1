import { isJsonObject, memberOf } from '../json.js';
import type { NodeType } from '../node-types.js';
import { namesIn, parseTemplate } from '../template.js';
import { type Draft, type DraftNode, placeOf } from './draft.js';
import type { IssueList } from './issue.js';

type Fields = Partial<Record<NodeType, readonly string[]>>;

const TEMPLATES: Fields = {
  output: ['template'],
  subflow: ['inputMappings'],
  tool: ['config', 'arguments'],
  memory: ['text'],
  map: ['items'],
  wait: ['until', 'event'],
  http: ['url', 'headers', 'body'],
};

/** Fields that people and models read without replacement. */
const PLAIN: Fields = {
  agent: ['prompt', 'hitl'],
  router: ['prompt', 'hitl'],
  parallel: ['prompt', 'branches'],
  whileLoop: ['conditionPrompt', 'loopPrompt'],
  approval: ['prompt'],
  input: ['prompt'],
};

/** Reports placeholders without effect: those that name unknown nodes, and those in texts that are not templates. */
export function checkPlaceholders(draft: Draft, issues: IssueList): void {
  for (const node of draft.nodes.values()) {
    if (node.type === null) continue;
    if (issues.hasAllWarnings()) return;
    for (const { path, names } of node.type === 'plugin' ? namedInValue(node.data.given, []) : namedIn(node, TEMPLATES))
      for (const name of names) {
        if (issues.hasAllWarnings()) return;
        if (!isKnown(name, draft))
          issues.warning('UNKNOWN_PLACEHOLDER', placeOf(node, 'data', ...path), sayUnknown(name, draft));
      }
    for (const { path, names } of namedIn(node, PLAIN))
      if (names.some((name) => isKnown(name, draft)))
        issues.warning(
          'PLACEHOLDER_IGNORED',
          placeOf(node, 'data', ...path),
          `This text of node "${node.id}" is not a template: its {{placeholders}} stay as they are written.`,
        );
  }
}

function isKnown(name: string, { nodes }: Draft): boolean {
  if (['input', 'output', 'context.sessionId'].includes(name) || name.startsWith('inputs.')) return true;
  const key = name.replace(/^outputs\./, '');
  const [node = ''] = key.split(':', 1);
  return nodes.has(key) || nodes.has(node) || nodes.has(key.replace(/_error$/, ''));
}

function sayUnknown(name: string, { nodes }: Draft): string {
  const [node = '', ...members] = name
    .replace(/^outputs\./, '')
    .slice(0, 400)
    .split('.');
  const what = `"{{${name.slice(0, 200)}}}" ${name.startsWith('outputs.') ? 'is empty' : 'stays as it is written'}`;
  return nodes.has(node) && members.length > 0
    ? `${what}: outputs are texts. A transform node behind "${node}" takes a member of JSON: input.${members.join('.').slice(0, 200)}`
    : `${what}: no node has this id.`;
}

interface NamedIn {
  readonly path: readonly PropertyKey[];
  readonly names: readonly string[];
}

/** The names in the placeholders of a node's fields, by the place of the field in its data. */
function namedIn(node: DraftNode, fields: Fields): readonly NamedIn[] {
  return (fields[node.type] ?? []).flatMap((field) => namedInValue(memberOf(node.raw, field), [field]));
}

/** One member per level of the definition, which is not deep. */
function namedInValue(value: unknown, path: readonly PropertyKey[]): readonly NamedIn[] {
  if (typeof value === 'string') return [{ path, names: namesIn(parseTemplate(value)) }];
  if (Array.isArray(value)) return value.flatMap((item, at) => namedInValue(item, [...path, at]));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => namedInValue(member, [...path, name]));
}
