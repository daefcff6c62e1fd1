import { type Draft, type DraftNode, placeOf } from './draft.js';
import type { IssueList } from './issue.js';

/** Reports nodes that name an unknown agent, because such a node cannot run. */
export function checkAgents(draft: Draft, known: ReadonlySet<string>, issues: IssueList): void {
  for (const node of draft.nodes.values()) {
    if (node.type !== 'agent' || node.data.agent === undefined || known.has(node.data.agent)) continue;
    const name = node.data.agent.slice(0, 200);
    issues.error('AGENT_NOT_FOUND', placeOf(node, 'data', 'agent'), `This workspace has no agent "${name}".`);
  }
}

/** Reports unknown tools: an agent does not get them, and a tool node that names one fails. */
export function checkTools(draft: Draft, known: ReadonlySet<string>, issues: IssueList): void {
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
