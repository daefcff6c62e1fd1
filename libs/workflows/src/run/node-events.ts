import type { NewJobEvent } from '#jobs';
import { defined } from '#platform';
import { projectResult } from '#tools';

import { isTransientCode, type NodeRunRow } from '../engine/node-run.js';
import type { NodeRunFacts } from './node-run.part.js';

/** Ids of node runs as clients see them. */
export function nodeRunId(jobId: string, { ordinal }: Pick<NodeRunRow, 'ordinal'>): string {
  return `${jobId}:${ordinal}`;
}

function placeOf(jobId: string, row: NodeRunRow) {
  const { nodeId, label, type, path, iteration } = row;
  const pass = iteration.at(-1);
  return {
    ...{ nodeRunId: nodeRunId(jobId, row), nodeId, label, type, path },
    ...defined({ iteration: pass }),
  };
}

export function nodeStarted(jobId: string, row: NodeRunRow): NewJobEvent {
  return { type: 'node-started', body: placeOf(jobId, row) };
}

/** The events of a node run that ended: its route, then its end. */
export function nodeFinished(jobId: string, row: NodeRunRow, facts: NodeRunFacts): readonly NewJobEvent[] {
  const { nodeId, status, output, error, extra } = row;
  const { route } = extra;
  const tokenCount = facts.promptTokens + facts.completionTokens;
  const finished: NewJobEvent = {
    type: 'node-finished',
    body: {
      ...placeOf(jobId, row),
      status,
      output: projectResult(extra.note ?? output ?? '', 'ui'),
      ...(error === null
        ? {}
        : {
            error: {
              code: error.code,
              message: error.message,
              ...(isTransientCode(error.code) && { retryable: true }),
            },
          }),
      ...(tokenCount === 0 ? {} : { tokenCount }),
      ...defined({ route }),
    },
  };
  if (route === undefined) return [finished];
  const { selectedRoute: routeId, selectedName: name, reasoning, fallbackUsed } = route;
  return [{ type: 'route-selected', body: { nodeId, routeId, name, reasoning, fallbackUsed } }, finished];
}
