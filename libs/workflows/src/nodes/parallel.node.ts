import { ConversationFailed } from '#chat';
import { AppError, type Clock, isTransient } from '#platform';

import type { NodeData } from '../definition/node-types.js';
import {
  type Conversed,
  type NodeExecutor,
  NodeFailure,
  type NodeOutcome,
  type Waiting,
} from '../engine/node-executor.js';
import { isTransientCode } from '../engine/node-run.js';
import { type ContextOf, defineNode } from './define-node.js';
import { handOn } from './settlements.js';
import { refusal, toNodeError } from './to-node-error.js';

/** The result of a branch of a parallel node, or what it waits for. */
type BranchEnd =
  | { readonly type: 'answered'; readonly text: string }
  | { readonly type: 'failed'; readonly message: string }
  | Waiting;

type Branch = NodeData['parallel']['branches'][number];

const MAX_ITERATIONS = 10;

/**
 * Runs one branch until it ends or times out. The timeout stops while the branch waits for a person. Rethrows errors that are not
 * failures of the branch: when the cause is unknown, the whole node must run again.
 */
async function runBranch(context: ContextOf<'parallel'>, branch: Branch, clock: Clock): Promise<BranchEnd> {
  const { node, ports } = context;
  const timeoutMs = node.data.branchTimeout;
  const overtime = new AbortController();
  const timer =
    timeoutMs > 0
      ? clock.after(timeoutMs, () => {
          overtime.abort();
        })
      : null;
  ports.branchStarted(branch.id, branch.label);
  try {
    const conversed = await converse(context, branch, overtime.signal);
    if (conversed.type === 'waiting') return conversed;
    ports.branchFinished(branch.id, branch.label, { output: conversed.text });
    return { type: 'answered', text: conversed.text };
  } catch (error) {
    if (context.signal.aborted || !(overtime.signal.aborted || isExpected(error))) throw error;
    const { message, code } = overtime.signal.aborted
      ? ({ message: `Branch "${branch.label}" timed out after ${timeoutMs}ms`, code: 'TIMEOUT' } as const)
      : toNodeError(error, node.id);
    ports.branchFinished(branch.id, branch.label, { error: message, retryable: isTransientCode(code) });
    return { type: 'failed', message };
  } finally {
    timer?.cancel();
  }
}

function isExpected(error: unknown): boolean {
  if (error instanceof ConversationFailed && error.endsJob) return false;
  return error instanceof NodeFailure || (error instanceof AppError && !isTransient(error));
}

function converse(context: ContextOf<'parallel'>, branch: Branch, overtime: AbortSignal): Promise<Conversed> {
  const { node, ports, input, signal } = context;
  const { prompt = '' } = branch;
  return ports.converse({
    branch: branch.id,
    isShown: true,
    model: branch.model ?? node.data.model ?? null,
    messages: [
      { role: 'system', content: prompt === '' ? 'You are a helpful assistant.' : prompt },
      { role: 'user', content: input },
    ],
    tools: branch.tools,
    maxIterations: MAX_ITERATIONS,
    signal: AbortSignal.any([signal, overtime]),
  });
}

const MERGE_ID = '__merge__';
const MERGE_LABEL = 'Merge';

/** Sends the same input to several models at once, and may have another model merge their responses. */
export function createParallelNode(clock: Clock): NodeExecutor {
  return defineNode({ type: 'parallel', run: (context) => runParallel(context, clock) });
}

async function runParallel(context: ContextOf<'parallel'>, clock: Clock): Promise<NodeOutcome> {
  const { node } = context;
  const { branches, mergeEnabled } = node.data;
  if (branches.length === 0) throw refusal('Parallel node has no branches configured');
  const running = branches.map((branch) => runBranch(context, branch, clock));
  await Promise.allSettled(running);
  // An abort of the node aborts its branches, and none of them counts as failed.
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

/** Successful branches in the order of their declaration, then the failures. */
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
