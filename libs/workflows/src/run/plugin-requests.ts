import type { JobRun, NewInterrupt } from '#jobs';
import { newId, toStorableText } from '#platform';
import { projectResult } from '#tools';

import type { NodeRunRow } from '../engine/node-run.js';

type Job = JobRun['job'];
type Row = Pick<NodeRunRow, 'ordinal' | 'nodeId' | 'path' | 'label'>;

const longestWaitMs = 7 * 86_400_000;

/**
 * A node whose type no plugin of the process defines. The request expires at `at` (ms since the epoch), which is when a worker looks for the plugin
 * again.
 */
export function missingPlugin(
  job: Job,
  row: Row,
  {
    key,
    type,
    waits,
    at,
  }: { readonly key: string; readonly type: string; readonly waits: number; readonly at: number },
): NewInterrupt {
  const [namespace = ''] = type.split('.');
  const reason = `No plugin of this server defines nodes of the type "${type}". Install the plugin that defines the nodes of "${namespace}".`;
  return {
    ...common(job, row),
    kind: 'plugin_missing',
    title: toStorableText(`The plugin of "${row.label}" is missing`),
    request: { ...idsOf(row, key), type, reason, retryAt: at, waits, decisions: ['retry', 'give_up'] },
    decidableBy: 'members',
    expiresAt: at,
  };
}

/** A node run that an earlier worker began and did not end. `data`: JSON text for people. */
export function unknownNodeOutcome(
  job: Job,
  row: Row,
  {
    key,
    type,
    data,
    startedAt,
  }: {
    readonly key: string;
    readonly type: string;
    readonly data: string;
    readonly startedAt: number | null;
  },
): NewInterrupt {
  const preview = projectResult(toStorableText(data), 'ui');
  return {
    ...common(job, row),
    kind: 'unknown_outcome',
    title: toStorableText(`Did "${row.label}" happen?`),
    request: {
      ...{ ...idsOf(row, key), tool: type, requester: job.createdBy, argumentsPreview: preview },
      ...{ argumentsTruncated: preview.length < data.length, startedAt, worker: null, verification: null },
      decisions: ['happened', 'did_not_happen', 'repeat', 'report'],
    },
    expiresAt: Date.now() + longestWaitMs,
    expireAction: 'report',
  };
}

function common({ threadId, createdBy }: Job, { nodeId, path }: Row) {
  return { id: newId(), nodeId, path, threadId, requester: createdBy };
}

/** By `nodeRun` and `key` a later worker finds the request again. */
function idsOf({ ordinal, nodeId, label }: Row, key: string) {
  return { nodeRun: ordinal, key, nodeId, nodeLabel: toStorableText(label) };
}
