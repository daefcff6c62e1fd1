import { defined } from '#platform';

import { edgesOf } from '../definition/edge-lookup.js';
import type { NodeContext, NodeOutcome } from '../engine/node-executor.js';
import type { NodeExtra } from '../engine/node-run.js';
import { refusal } from './to-node-error.js';

/** The node succeeded: its output is passed on along `output`, or along the given handles. */
export function handOn(
  output: string,
  handles: readonly string[] = ['output'],
  extra?: NodeExtra,
): Extract<NodeOutcome, { type: 'finished' }> {
  return { type: 'finished', output, handles, handOn: 'output', ...defined({ extra }) };
}

/** A person rejected the node before it ran: its input is passed on along `rejected`. Throws if no edge has that handle. */
export function rejectedBefore(context: Pick<NodeContext, 'graph' | 'node'>): NodeOutcome {
  if (!leadsOn(context, 'rejected')) throw requestRejected();
  return { type: 'finished', output: '', handles: ['rejected'], handOn: 'input' };
}

export function requestRejected(): Error {
  return refusal('HITL: Request rejected');
}

/** Returns whether an edge has exactly this handle. */
export function leadsOn({ graph, node }: Pick<NodeContext, 'graph' | 'node'>, handle: 'rejected' | 'timeout'): boolean {
  return edgesOf(graph, node.id, handle).length > 0;
}

/** The data of an answer as text: a text stays as it is, another value becomes JSON. Null: the answer has no data. */
export function givenText(data: unknown): string | null {
  if (data === undefined || data === null) return null;
  return typeof data === 'string' ? data : JSON.stringify(data);
}
