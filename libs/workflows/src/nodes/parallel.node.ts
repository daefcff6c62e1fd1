import type { Clock } from '#platform';

import type { NodeData } from '../definition/node-types.js';
import type { NodeExecutor, NodeOutcome } from '../engine/node-executor.js';
import { type BranchEnd, runBranch } from './branch.js';
import { type ContextOf, defineNode } from './define-node.js';
import { handOn } from './settlements.js';
import { refusal } from './to-node-error.js';

type Branch = NodeData['parallel']['branches'][number];

const MERGE_ID = '__merge__';
const MERGE_LABEL = 'Merge';

/** Asks several models the same at once, and one more to merge what they say. */
export function createParallelNode(clock: Clock): NodeExecutor {
  return defineNode({ type: 'parallel', run: (context) => runParallel(context, clock) });
}

async function runParallel(context: ContextOf<'parallel'>, clock: Clock): Promise<NodeOutcome> {
  const { node } = context;
  const { branches, mergeEnabled } = node.data;
  if (branches.length === 0) throw refusal('Parallel node has no branches configured');
  const running = branches.map((branch) => runBranch(context, branch, clock));
  await Promise.allSettled(running);
  // What aborts the node, aborts its branches: none of them has failed by itself.
  context.signal.throwIfAborted();
  const ends = await Promise.all(running);
  const waits = ends.filter((end) => end.type === 'waiting');
  if (waits.length > 0)
    return {
      type: 'waiting',
      interruptIds: waits.flatMap(({ interruptIds }) => interruptIds),
      calls: waits.flatMap(({ calls = [] }) => calls),
    };
  const result = resultText(branches, ends);
  const outputs = Object.fromEntries(
    ends.flatMap((end, index) =>
      end.type === 'answered' ? [[`${node.id}:${branches[index]?.id ?? ''}`, end.text] as const] : [],
    ),
  );
  if (!mergeEnabled) return handOn(result, [...new Set(branches.map(({ id }) => id))], { outputs });
  if (node.data.prompt.trim() === '') return handOn(result, ['merged'], { outputs });
  const merged = await merge(context, result);
  return typeof merged === 'string' ? handOn(merged, ['merged'], { outputs }) : merged;
}

/** Successful ones in the order in which they are declared, then what went wrong. */
function resultText(branches: readonly Branch[], ends: readonly BranchEnd[]): string {
  const labelled = ends.map((end, index) => ({ end, label: branches[index]?.label ?? '' }));
  const texts = labelled.flatMap(({ end, label }) => (end.type === 'answered' ? [`## ${label}\n${end.text}`] : []));
  const errors = labelled.flatMap(({ end, label }) => (end.type === 'failed' ? [`${label}: ${end.message}`] : []));
  return [...texts, ...(errors.length === 0 ? [] : [`## Errors\n${errors.join('\n')}`])].join('\n\n');
}

async function merge({ node, ports, signal }: ContextOf<'parallel'>, result: string): Promise<string | NodeOutcome> {
  ports.branchStarted(MERGE_ID, MERGE_LABEL);
  const conversed = await ports.converse({
    branch: MERGE_ID,
    isShown: true,
    model: node.data.model ?? null,
    messages: [
      { role: 'system', content: node.data.prompt },
      { role: 'user', content: `Merge these results into one:\n\n${result}` },
    ],
    tools: [],
    maxIterations: 1,
    signal,
  });
  if (conversed.type === 'waiting') return conversed;
  ports.branchFinished(MERGE_ID, MERGE_LABEL, { output: conversed.text });
  return conversed.text;
}
