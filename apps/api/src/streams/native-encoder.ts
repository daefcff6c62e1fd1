import type { JobEvent, JobSnapshot } from '#jobs';
import { toWireCall } from '#tools';
import type { WorkflowState } from '#workflows';

import { sseFrame } from './sse-frame.js';
import type { EncodedItem, StreamEncoder } from './stream-encoder.js';
import { toStatus } from './to-status.js';
import type { ViewedItem } from './viewed-item.js';

// All viewers of a job share its events, so each event is serialized once.
const frames = new WeakMap<JobEvent, string>();

/** The native format: each event under its own name, and snapshots where events are missing. `now` sets the time of snapshots. */
export function nativeEncoder(now: () => number): StreamEncoder {
  return {
    encode: (item: ViewedItem): EncodedItem => {
      // Clients of this format follow a workflow by its events.
      if (item.type === 'workflow-state') return { text: '', after: item.after, needsSnapshot: false };
      if (item.type === 'events') {
        const text = item.events.map(eventFrame).join('');
        return { text, after: item.events.at(-1)?.seq ?? 0, needsSnapshot: false };
      }
      const { snapshot, reset, state } = item;
      const text = snapshotFrame(snapshot, { reset, at: now(), state: state ?? null });
      return { text, after: snapshot.seq, needsSnapshot: false };
    },
  };
}

function eventFrame(event: JobEvent): string {
  const known = frames.get(event);
  if (known !== undefined) return known;
  const { seq, jobId, at, attempt, type } = event;
  const text = sseFrame({ id: seq, event: type, data: { seq, jobId, at, attempt, ...bodyOf(event) } });
  frames.set(event, text);
  return text;
}

/** The body of an event; every error in it has `retryable`. */
function bodyOf({ type, body }: JobEvent): object {
  if (type === 'tool-call' || type === 'tool-call-updated') return { ...body, call: toWireCall(body.call) };
  if (type === 'branch-finished' && body.error !== undefined) return { retryable: false, ...body };
  if ((type === 'node-finished' || type === 'job-finished') && body.error !== undefined)
    return { ...body, error: { retryable: false, ...body.error } };
  return body;
}

interface SnapshotFacts {
  readonly reset: boolean;
  readonly at: number;
  readonly state: WorkflowState | null;
}

function snapshotFrame(snapshot: JobSnapshot, { reset, at, state }: SnapshotFacts): string {
  const { seq, jobId, attempt } = snapshot;
  // The same fields as in `interrupt-opened`: absent if the request has no call or no node.
  const interrupts = snapshot.interrupts.map(({ id, callId, nodeId, ...shown }) => ({
    interruptId: id,
    callId: callId ?? undefined,
    nodeId: nodeId ?? undefined,
    ...shown,
  }));
  return sseFrame({
    id: seq,
    event: 'snapshot',
    data: { seq, jobId, at, attempt, reset, status: toStatus(snapshot, { state }), interrupts },
  });
}
