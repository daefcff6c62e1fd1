import { memberOf } from '../json.js';
import type { Draft } from './draft.js';
import type { IssueList } from './issue.js';

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
