import type { FeedItem, JobEvent, JobSnapshot, ToolCallItem } from '#jobs';
import { type ToolCallStatus, toToolCallItem } from '#tools';

/** An event in the shape of its GraphQL type. Plain data: what a viewer may see of it does not depend on the viewer. */
export interface JobEventModel {
  readonly __typename: string;
  readonly seq: number;
  readonly [field: string]: unknown;
}

const models = new WeakMap<JobEvent, JobEventModel>();

/** The models of what the feed gave. The same event gives the same object to every viewer, so that work on it is shared. */
export function toJobEventModels(item: FeedItem): readonly JobEventModel[] {
  return item.type === 'snapshot' ? [toSnapshotModel(item.snapshot, item.reset)] : item.events.map(modelOf);
}

function modelOf(event: JobEvent): JobEventModel {
  const known = models.get(event);
  if (known !== undefined) return known;
  const model = toModel(event);
  models.set(event, model);
  return model;
}

function toModel(event: JobEvent): JobEventModel {
  const { seq, jobId, at, attempt } = event;
  const stamp = { seq, jobId, at, attempt };
  switch (event.type) {
    case 'job-queued':
      return { __typename: 'JobQueuedEvent', ...stamp, ...event.body };
    case 'job-started':
      return { __typename: 'JobStartedEvent', ...stamp, ...event.body };
    case 'round-started':
      return { __typename: 'RoundStartedEvent', ...stamp, ...event.body };
    case 'text-delta':
      return { __typename: 'TextDeltaEvent', ...stamp, ...event.body };
    case 'reasoning-delta':
      return { __typename: 'ReasoningDeltaEvent', ...stamp, ...event.body };
    case 'round-restarted':
      return { __typename: 'RoundRestartedEvent', ...stamp, ...event.body };
    case 'round-finished':
      return { __typename: 'RoundFinishedEvent', ...stamp, ...event.body };
    case 'tool-call':
      return { __typename: 'ToolCallEvent', ...stamp, toolCall: toState(event.body.call, event.body) };
    case 'tool-call-updated':
      return { __typename: 'ToolCallUpdatedEvent', ...stamp, toolCall: toState(event.body.call, event.body) };
    case 'tool-progress':
      return { __typename: 'ToolProgressEvent', ...stamp, ...event.body };
    case 'interrupt-opened':
      return { __typename: 'InterruptOpenedEvent', ...stamp, ...event.body };
    case 'interrupt-reminder':
      return { __typename: 'InterruptReminderEvent', ...stamp, ...event.body };
    case 'interrupt-resolved':
      return { __typename: 'InterruptResolvedEvent', ...stamp, ...event.body };
    case 'job-waiting':
      return { __typename: 'JobWaitingEvent', ...stamp, ...event.body };
    case 'job-requeued':
      return { __typename: 'JobRequeuedEvent', ...stamp, ...event.body };
    case 'warning':
      return { __typename: 'JobWarningEvent', ...stamp, ...event.body };
    case 'job-cancel-requested':
      return { __typename: 'JobCancelRequestedEvent', ...stamp, ...event.body };
    case 'job-finished': {
      const { content_length: contentLength, ...body } = event.body;
      return { __typename: 'JobFinishedEvent', ...stamp, ...body, contentLength };
    }
  }
}

function toState(call: ToolCallItem, { round, internalStatus }: { round: number; internalStatus: string }) {
  const { id: callId, name, args, result, error } = call;
  return { callId, round, name, status: internalStatus, arguments: args, result: result ?? null, error: error ?? null };
}

function toSnapshotModel(snapshot: JobSnapshot, reset: boolean): JobEventModel {
  const { seq, jobId, attempt, status, content, reasoning, rounds, calls, interrupts, error } = snapshot;
  const toolCalls = calls.map((call) => {
    const status = call.status as ToolCallStatus; // the table's CHECK allows no other
    return toState(toToolCallItem({ ...call, status }), { round: call.round, internalStatus: status });
  });
  const at = Date.now();
  const body = { reset, status, content, reasoning, rounds, toolCalls, interrupts, error };
  return { __typename: 'JobSnapshotEvent', seq, jobId, at, attempt, ...body };
}
