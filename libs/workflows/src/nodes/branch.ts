import { ConversationFailed } from '#chat';
import { AppError, type Clock, isPassing } from '#platform';

import type { NodeData } from '../definition/node-types.js';
import { type Conversed, NodeFailure, type Waiting } from '../engine/node-executor.js';
import type { ContextOf } from './define-node.js';
import { toNodeError } from './to-node-error.js';

/** How a branch of a parallel node ended, or what it waits for. */
export type BranchEnd =
  | { readonly type: 'answered'; readonly text: string }
  | { readonly type: 'failed'; readonly message: string }
  | Waiting;

type Branch = NodeData['parallel']['branches'][number];

const MOST_ITERATIONS = 10;

/**
 * Runs one branch until it ends or times out. The timeout stops while the branch waits for a person. Rethrows errors that are not
 * failures of the branch: when the cause is unknown, the whole node must run again.
 */
export async function runBranch(context: ContextOf<'parallel'>, branch: Branch, clock: Clock): Promise<BranchEnd> {
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
    const message = overtime.signal.aborted
      ? `Branch "${branch.label}" timed out after ${timeoutMs}ms`
      : toNodeError(error, node.id).message;
    ports.branchFinished(branch.id, branch.label, { error: message });
    return { type: 'failed', message };
  } finally {
    timer?.cancel();
  }
}

function isExpected(error: unknown): boolean {
  if (error instanceof ConversationFailed && error.endsJob) return false;
  return error instanceof NodeFailure || (error instanceof AppError && !isPassing(error));
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
    maxIterations: MOST_ITERATIONS,
    signal: AbortSignal.any([signal, overtime]),
  });
}
