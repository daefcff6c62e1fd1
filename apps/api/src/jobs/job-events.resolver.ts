import { Args, Context, Resolver, Subscription } from '@nestjs/graphql';

import { abilityOf, asSubject } from '#auth';
import { type GraphqlContext, RequireAbility, Viewers } from '#auth/api';
import {
  EventFeed,
  type FeedItem,
  type JobEvent,
  type JobEventBodies,
  type JobEventType,
  jobNotFound,
  JobOwnersRepository,
  type JobSnapshot,
  type ToolCallItem,
} from '#jobs';
import { type JobError, type jobEventModels, JobEventsArgs, JobEventUnion, toJobError } from '#jobs/api';
import { invalidCursor, PlainData } from '#platform/api';
import { type ToolCallStatus, toToolCallItem, toWireCall } from '#tools';

/** An event in the shape of its GraphQL type. Every viewer gets the same plain data. */
interface JobEventModel {
  readonly __typename: string;
  readonly seq: number;
  readonly [field: string]: unknown;
}

const models = new WeakMap<JobEvent, JobEventModel>();

/** The models of an item of the feed. The same event returns the same object for every viewer, so that the work on it is shared. */
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

const typenames = {
  'job-queued': 'JobQueuedEvent',
  'job-started': 'JobStartedEvent',
  'agent-selected': 'AgentSelectedEvent',
  'round-started': 'RoundStartedEvent',
  'text-delta': 'TextDeltaEvent',
  'reasoning-delta': 'ReasoningDeltaEvent',
  'round-restarted': 'RoundRestartedEvent',
  'model-retry': 'ModelRetryEvent',
  'round-finished': 'RoundFinishedEvent',
  'tool-call': 'ToolCallEvent',
  'tool-call-updated': 'ToolCallUpdatedEvent',
  'tool-progress': 'ToolProgressEvent',
  'hook-applied': 'HookAppliedEvent',
  'interrupt-opened': 'InterruptOpenedEvent',
  'interrupt-reminder': 'InterruptReminderEvent',
  'interrupt-resolved': 'InterruptResolvedEvent',
  'job-waiting': 'JobWaitingEvent',
  'job-requeued': 'JobRequeuedEvent',
  'node-started': 'NodeStartedEvent',
  'node-progress': 'NodeProgressEvent',
  'node-finished': 'NodeFinishedEvent',
  'branch-started': 'BranchStartedEvent',
  'branch-finished': 'BranchFinishedEvent',
  'route-selected': 'RouteSelectedEvent',
  'loop-iteration': 'LoopIterationEvent',
  warning: 'JobWarningEvent',
  'job-cancel-requested': 'JobCancelRequestedEvent',
  'job-finished': 'JobFinishedEvent',
} as const satisfies Record<JobEventType, keyof typeof jobEventModels>;

function toModel(event: JobEvent): JobEventModel {
  const { seq, jobId, at, attempt, type } = event;
  return { __typename: typenames[type], seq, jobId, at, attempt, ...fieldsOf(event) };
}

/** The body with GraphQL's field names. */
function fieldsOf({ type, body }: JobEvent): object {
  if (type === 'tool-call' || type === 'tool-call-updated') return callOf(body);
  if (type === 'node-finished') {
    const { status: nodeStatus, error, ...rest } = body;
    return { ...rest, ...errorOf(error), nodeStatus };
  }
  if (type === 'branch-finished') {
    const { status: nodeStatus, error: failure, retryable = false, ...rest } = body;
    return { ...rest, nodeStatus, failure, retryable: failure === undefined ? null : retryable };
  }
  if (type === 'job-finished') {
    const { content_length: contentLength, error, ...rest } = body;
    return { ...rest, ...errorOf(error), contentLength };
  }
  return body;
}

function errorOf(failure: JobEventBodies['job-finished']['error']): { readonly error?: JobError } {
  return failure === undefined ? {} : { error: toJobError(failure) };
}

function callOf({ call, nodeId, ...where }: JobEventBodies['tool-call']) {
  return { nodeId, toolCall: toState(call, where) };
}

function toState(call: ToolCallItem, { round, internalStatus }: { round: number; internalStatus: string }) {
  const { id: callId, name, args, proposedArgs, result, error, retryable } = toWireCall(call);
  const given = { arguments: args, proposedArguments: proposedArgs ?? null };
  return {
    callId,
    round,
    name,
    status: internalStatus,
    ...given,
    result: result ?? null,
    error: error ?? null,
    retryable: retryable ?? null,
  };
}

function toSnapshotModel(snapshot: JobSnapshot, reset: boolean): JobEventModel {
  const { seq, jobId, attempt, status, content, reasoning, rounds, calls, interrupts, error } = snapshot;
  const toolCalls = calls.map((call) => {
    const status = call.status as ToolCallStatus; // the table's CHECK allows no other
    return toState(toToolCallItem({ ...call, status }), { round: call.round, internalStatus: status });
  });
  const at = Date.now();
  const body = { reset, status, content, reasoning, rounds, toolCalls, interrupts, ...errorOf(error ?? undefined) };
  return { __typename: 'JobSnapshotEvent', seq, jobId, at, attempt, ...body };
}

/** Live views of jobs. A source yields batches; the WebSocket endpoint turns each event into a message. */
@Resolver()
export class JobEventsResolver {
  constructor(
    private readonly owners: JobOwnersRepository,
    private readonly feed: EventFeed,
    private readonly viewers: Viewers,
  ) {}

  @PlainData()
  @RequireAbility('read', 'Job')
  @Subscription(() => JobEventUnion, {
    description: 'The event log of a job: a snapshot or the events after `after`, then live events until the job ends.',
  })
  async jobEvents(
    @Args() { jobId, after }: JobEventsArgs,
    @Context() context: GraphqlContext,
  ): Promise<AsyncIterable<readonly JobEventModel[]>> {
    if (after != null && after < 0) throw invalidCursor('after');
    const { member, signal } = context;
    const job = await this.owners.find(member.workspaceId, jobId);
    if (job === null || !abilityOf(member).can('read', asSubject('Job', job))) throw jobNotFound();
    this.viewers.enter(context, job);
    const { workspaceId, jobId: id } = job;
    return modelsOf(this.feed.follow({ workspaceId, jobId: id, after: after ?? undefined, signal }));
  }
}

/** Maps the items without a second generator, which would cost each event one more turn of the event loop. */
function modelsOf(items: AsyncGenerator<FeedItem, void, undefined>): AsyncIterable<readonly JobEventModel[]> {
  const toResult = ({
    done,
    value,
  }: IteratorResult<FeedItem, void>): IteratorResult<readonly JobEventModel[], undefined> =>
    done === true ? { done, value: undefined } : { done: false, value: toJobEventModels(value) };
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => items.next().then(toResult),
      return: () => items.return().then(toResult),
    }),
  };
}
