import {
  type FeedItem,
  isDelta,
  isTerminal,
  type JobEvent,
  type JobSnapshot,
  statusAfter,
  type ToolCallItem,
} from '#jobs';

import {
  type StatusHead,
  type StatusQuery,
  type StatusTexts,
  toItem,
  toStatus,
  toStatusHead,
  toWireStatus,
  withOutput,
} from '../jobs/to-status.js';
import { sseFrame } from './sse-frame.js';
import type { EncodedItem, StreamEncoder } from './stream-encoder.js';

interface Call {
  readonly round: number;
  readonly item: ToolCallItem;
}

interface State {
  /** Number up to which `head` and `calls` were read; events up to it tell nothing new about them. */
  readonly readAt: number;
  readonly head: StatusHead;
  readonly calls: readonly Call[];
}

/**
 * The stream as OR3 chat clients read it: `snapshot`, then `delta` for text and `status` for everything else, at the end one
 * `status` with the whole text. `query`: what the client says it has. `base`: for a client that comes back with an event
 * number and gets no snapshot first. Remembers the job without its texts.
 */
export function or3Encoder({
  query,
  base,
}: {
  readonly query: StatusQuery;
  readonly base?: JobSnapshot;
}): StreamEncoder {
  let state = base === undefined ? undefined : toState(base);
  let shown: 'nothing' | 'texts' = base === undefined ? 'nothing' : 'texts';
  const takeSnapshot = ({ snapshot, reset }: Extract<FeedItem, { type: 'snapshot' }>): EncodedItem => {
    const attemptBefore = state?.head.attempt;
    state = toState(snapshot);
    const isFirst = shown === 'nothing';
    shown = 'texts';
    const withdrew = reset || (attemptBefore !== undefined && attemptBefore !== snapshot.attempt);
    const text = isFirst
      ? frame(snapshot.seq, 'snapshot', toStatus(snapshot, query))
      : frame(snapshot.seq, reset ? 'snapshot' : 'status', { ...toStatus(snapshot), ...(withdrew ? resetMarks : {}) });
    const end = isFirst && snapshot.ended ? frame(snapshot.seq, 'status', toStatus(snapshot)) : '';
    return { text: text + end, after: snapshot.seq, needsSnapshot: false };
  };
  const takeEvents = (events: readonly JobEvent[]): EncodedItem => {
    let text = '';
    let after = 0;
    for (const event of events) {
      if (state === undefined) throw new Error('events came before anything they could follow');
      // Withdrawn text, and the whole text at the end, are read again rather than remembered for every viewer.
      if (event.type === 'round-restarted' || event.type === 'job-finished')
        return { text, after, needsSnapshot: true };
      state = fold(state, event);
      text += eventFrame(state, event);
      after = event.seq;
    }
    return { text, after, needsSnapshot: false };
  };
  return { encode: (item) => (item.type === 'snapshot' ? takeSnapshot(item) : takeEvents(item.events)) };
}

const resetMarks: StatusTexts = { content_reset: true, reasoning_reset: true };

function toState(snapshot: JobSnapshot): State {
  return {
    readAt: snapshot.seq,
    head: toStatusHead(snapshot),
    calls: snapshot.calls.map((call) => ({ round: call.round, item: toItem(call) })),
  };
}

/** The job after an event. A state read later than the event never goes back. */
function fold({ readAt, head, calls }: State, event: JobEvent): State {
  const status = statusAfter(event);
  const isNews = event.seq > readAt;
  const nextCalls = isNews ? foldCalls(calls, event) : calls;
  const jobStatus = isNews && status !== undefined && !isTerminal(head.job_status) ? status : head.job_status;
  return {
    readAt,
    calls: nextCalls,
    head: {
      ...head,
      job_status: jobStatus,
      status: toWireStatus(jobStatus),
      seq: event.seq,
      chunksReceived: event.seq,
      attempt: event.attempt,
      tool_calls: nextCalls === calls ? head.tool_calls : nextCalls.map(({ item }) => item),
      ...lengthsAfter(event),
    },
  };
}

function lengthsAfter(event: JobEvent): Partial<Pick<StatusHead, 'content_length' | 'reasoning_length'>> {
  if (!isDelta(event) || event.body.offset === undefined) return {};
  const length = event.body.offset + event.body.text.length;
  return event.type === 'text-delta' ? { content_length: length } : { reasoning_length: length };
}

function foldCalls(calls: readonly Call[], event: JobEvent): readonly Call[] {
  if (event.type !== 'tool-call' && event.type !== 'tool-call-updated') return calls;
  const call = { round: event.body.round, item: withOutput(event.body.call) };
  const at = calls.findIndex(({ round, item }) => round === call.round && item.id === call.item.id);
  return at === -1 ? [...calls, call] : calls.with(at, call);
}

function eventFrame({ head }: State, event: JobEvent): string {
  // How far a call is, these clients have no word for: a whole status twice a second would tell them nothing.
  if (event.type === 'tool-progress') return '';
  if (!isDelta(event)) return frame(event.seq, 'status', head);
  const { text, offset } = event.body;
  // Text of a node is part of the state of the workflow, not of the content that deltas add to.
  if (offset === undefined) return '';
  return frame(event.seq, 'delta', {
    ...head,
    ...(event.type === 'text-delta' ? { content_delta: text } : { reasoning_delta: text }),
  });
}

function frame(id: number, event: 'snapshot' | 'delta' | 'status', status: StatusHead & StatusTexts): string {
  return sseFrame({ id, data: { event, status } });
}
