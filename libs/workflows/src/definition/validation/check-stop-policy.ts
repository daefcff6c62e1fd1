import type { Draft } from './draft.js';
import type { IssueList } from './issue.js';

/** What a run may use. What models cost is not known here, so nobody is to rely on a limit of that. */
export function checkStopPolicy({ document }: Draft, issues: IssueList): void {
  if (document.meta.execution.stopPolicy.maxCostUsd === undefined) return;
  const path = ['meta', 'execution', 'stopPolicy', 'maxCostUsd'];
  issues.warning('LIMIT_IGNORED', { path }, 'The cost of a run is not watched: prices are not known. Use maxTokens.');
}
