import { type Draft, placeOf } from './draft.js';
import type { IssueList } from './issue.js';

/** Reports nodes that name an unknown agent, because such a node cannot run. */
export function checkAgents(draft: Draft, known: ReadonlySet<string>, issues: IssueList): void {
  for (const node of draft.nodes.values()) {
    if (node.type !== 'agent' || node.data.agent === undefined || known.has(node.data.agent)) continue;
    const name = node.data.agent.slice(0, 200);
    issues.error('AGENT_NOT_FOUND', placeOf(node, 'data', 'agent'), `This workspace has no agent "${name}".`);
  }
}
