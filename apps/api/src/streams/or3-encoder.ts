import { isDelta, isTerminal, type JobEvent, type JobSnapshot, statusAfter } from '#jobs';
import { toWireStatus } from '#jobs/api';
import { toWireCall } from '#tools';

import { sseFrame } from './sse-frame.js';
import type { EncodedItem, StreamEncoder } from './stream-encoder.js';
import {
  type StatusCall,
  type StatusHead,
  type StatusQuery,
  type StatusReply,
  type StatusTexts,
  toStatus,
  toStatusHead,
} from './to-status.js';
import type { StateItem, ViewedItem } from './viewed-item.js';

interface State {
  /** `head` includes the events up to this number. */
  readonly readAt: number;
  readonly head: StatusHead;
}

/**
 * The stream format of OR3 chat clients: `snapshot`, then `delta` for text and `status` for all other changes, and at the end a `status`
 * with the whole text. For a workflow, each new state is sent as a `status`, which covers all events since the last one. `query`: the text
 * that the client reports to have. `base`: the job, for a client that resumes from an event number and gets no snapshot first. The encoder
 * keeps the job without its texts.
 */
export function or3Encoder(terms: { readonly query: StatusQuery; readonly base?: JobSnapshot }): StreamEncoder {
  return new Or3Encoder(terms);
}

class Or3Encoder implements StreamEncoder {
  private readonly query: StatusQuery;
  private state: State | undefined;

  constructor({ query, base }: { readonly query: StatusQuery; readonly base?: JobSnapshot }) {
    this.query = query;
    this.state = base === undefined ? undefined : toState(base);
  }

  encode(item: ViewedItem): EncodedItem {
    switch (item.type) {
      case 'snapshot':
        return this.takeSnapshot(item);
      case 'events':
        return this.takeEvents(item.events);
      case 'workflow-state':
        return this.takeState(item);
    }
  }

  private takeSnapshot({ snapshot, reset, state }: Extract<ViewedItem, { type: 'snapshot' }>): EncodedItem {
    const before = this.state;
    this.state = toState(snapshot);
    const whole = toStatus(snapshot, { state: state ?? null });
    const encoded = (text: string): EncodedItem => ({ text, after: snapshot.seq, needsSnapshot: false });
    if (before === undefined) {
      const first = frame(snapshot.seq, 'snapshot', toStatus(snapshot, { query: this.query, state: state ?? null }));
      return encoded(snapshot.ended ? first + frame(snapshot.seq, 'status', whole) : first);
    }
    const marks = reset || before.head.attempt !== snapshot.attempt ? resetMarks : {};
    return encoded(frame(snapshot.seq, reset ? 'snapshot' : 'status', { ...whole, ...marks }));
  }

  private takeEvents(events: readonly JobEvent[]): EncodedItem {
    let text = '';
    let after = 0;
    for (const event of events) {
      // After a restart of a round, and at the end, the text is read again, so that the encoder need not keep it for every viewer.
      if (event.type === 'round-restarted' || event.type === 'job-finished')
        return { text, after, needsSnapshot: true };
      this.state = fold(this.known, event);
      text += eventFrame(this.state, event);
      after = event.seq;
    }
    return { text, after, needsSnapshot: false };
  }

  private takeState({ state, after }: StateItem): EncodedItem {
    const status = { ...this.known.head, seq: after, chunksReceived: after, workflow_state: state };
    return { text: frame(after, 'status', status), after, needsSnapshot: false };
  }

  private get known(): State {
    if (this.state === undefined) throw new Error('an event came before the first snapshot');
    return this.state;
  }
}

const resetMarks: StatusTexts = { content_reset: true, reasoning_reset: true };

function toState(snapshot: JobSnapshot): State {
  return { readAt: snapshot.seq, head: toStatusHead(snapshot) };
}

/** The job after an event. A state that was read after the event does not change back. */
function fold({ readAt, head }: State, event: JobEvent): State {
  const status = statusAfter(event);
  const isNewer = event.seq > readAt;
  const jobStatus = isNewer && status !== undefined && !isTerminal(head.job_status) ? status : head.job_status;
  return {
    readAt,
    head: {
      ...head,
      job_status: jobStatus,
      status: toWireStatus(jobStatus),
      seq: event.seq,
      chunksReceived: event.seq,
      attempt: event.attempt,
      rounds: isNewer && event.type === 'round-finished' ? head.rounds + 1 : head.rounds,
      tool_calls: isNewer ? foldCalls(head.tool_calls, event) : head.tool_calls,
      ...lengthsAfter(event),
    },
  };
}

function lengthsAfter(event: JobEvent): Partial<Pick<StatusHead, 'content_length' | 'reasoning_length'>> {
  if (!isDelta(event) || event.body.offset === undefined) return {};
  const length = event.body.offset + event.body.text.length;
  return event.type === 'text-delta' ? { content_length: length } : { reasoning_length: length };
}

function foldCalls(calls: readonly StatusCall[], event: JobEvent): readonly StatusCall[] {
  if (event.type !== 'tool-call' && event.type !== 'tool-call-updated') return calls;
  const call = { ...toWireCall(event.body.call), round: event.body.round };
  const at = calls.findIndex(({ round, id }) => round === call.round && id === call.id);
  return at === -1 ? [...calls, call] : calls.with(at, call);
}

function eventFrame({ head }: State, event: JobEvent): string {
  const isWorkflow = head.kind === 'workflow';
  // OR3 clients do not show the progress of a call, so a whole status twice a second would be useless to them.
  if (event.type === 'tool-progress') return '';
  if (!isDelta(event)) return isWorkflow ? '' : frame(event.seq, 'status', { ...head, workflow_state: null });
  const { text, offset } = event.body;
  // Text of a node is part of the state of the workflow, not of the content that deltas add to.
  if (offset === undefined) return '';
  return frame(event.seq, 'delta', {
    ...head,
    ...(isWorkflow ? {} : { workflow_state: null }),
    ...(event.type === 'text-delta' ? { content_delta: text } : { reasoning_delta: text }),
  });
}

/** Absent `workflow_state`: the state has not changed. */
type ShownStatus = StatusHead & StatusTexts & Partial<Pick<StatusReply, 'workflow_state'>>;

function frame(id: number, event: 'snapshot' | 'delta' | 'status', status: ShownStatus): string {
  return sseFrame({ id, data: { event, status } });
}
