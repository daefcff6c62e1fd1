import { defined } from '#platform';

import { edgesOf } from '../definition/edge-lookup.js';
import type { NodeContext, NodeOutcome } from '../engine/node-executor.js';
import type { NodeExtra } from '../engine/node-run.js';
import { refusal } from './to-node-error.js';

/** The node is done: its output is passed on, along `output` unless other handles are given. */
export function handOn(
  output: string,
  handles: readonly string[] = ['output'],
  extra?: NodeExtra,
): Extract<NodeOutcome, { type: 'finished' }> {
  return { type: 'finished', output, handles, handOn: 'output', ...defined({ extra }) };
}

/** A person rejected before the node ran: its input is passed on along `rejected`. Throws when no edge leads there. */
export function rejectedBefore(context: Pick<NodeContext, 'graph' | 'node'>): NodeOutcome {
  if (!leadsOn(context, 'rejected')) throw requestRejected();
  return { type: 'finished', output: '', handles: ['rejected'], handOn: 'input' };
}

export function requestRejected(): Error {
  return refusal('HITL: Request rejected');
}

/** Whether an edge is there for a handle that is matched exactly. */
export function leadsOn({ graph, node }: Pick<NodeContext, 'graph' | 'node'>, handle: 'rejected' | 'timeout'): boolean {
  return edgesOf(graph, node.id, handle).length > 0;
}

/** What a person gave, as text: a text as it is, anything else as JSON. Null: nothing was given. */
export function givenText(data: unknown): string | null {
  if (data === undefined || data === null) return null;
  return typeof data === 'string' ? data : JSON.stringify(data);
}
