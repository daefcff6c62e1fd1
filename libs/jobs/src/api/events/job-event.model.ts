import { createUnionType, Field, Float, ID, Int, ObjectType } from '@nestjs/graphql';

import { JobStatusEnum } from '../job.enums.js';
import { JobError } from '../job.model.js';
import { Usage } from '../usage.model.js';
import { AgentSelectedEvent } from './agent-event.model.js';
import { InterruptOpenedEvent, InterruptReminderEvent, InterruptResolvedEvent } from './interrupt-event.model.js';
import { JobEventEntry, NodeEventEntry, type Typed } from './job-event-entry.model.js';
import { OpenInterrupt, SnapshotRoundState, ToolCallState } from './job-snapshot.model.js';
import {
  ModelRetryEvent,
  ReasoningDeltaEvent,
  RoundFinishedEvent,
  RoundRestartedEvent,
  RoundStartedEvent,
  TextDeltaEvent,
} from './round-event.model.js';
import {
  BranchFinishedEvent,
  BranchStartedEvent,
  LoopIterationEvent,
  NodeFinishedEvent,
  NodeProgressEvent,
  NodeStartedEvent,
  RouteSelectedEvent,
} from './workflow-event.model.js';

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'The state of the job at number `seq`. Later events continue from there.',
})
class JobSnapshotEvent extends JobEventEntry {
  @Field(() => Boolean, {
    description: 'Whether the viewer must discard its state, because the events after its cursor were trimmed.',
  })
  reset!: boolean;

  @Field(() => JobStatusEnum, { description: 'The status of the job.' })
  status!: string;

  @Field(() => String, { description: 'The text so far.' })
  content!: string;

  @Field(() => String, { description: 'The reasoning so far.' })
  reasoning!: string;

  @Field(() => [SnapshotRoundState], { description: 'The complete rounds.' })
  rounds!: SnapshotRoundState[];

  @Field(() => [ToolCallState], { description: 'The tool calls so far.' })
  toolCalls!: ToolCallState[];

  @Field(() => [OpenInterrupt], { description: 'What the job waits for.' })
  interrupts!: OpenInterrupt[];

  @Field(() => JobError, { nullable: true, description: 'Why it failed, if it did.' })
  error!: JobError | null;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'The job was accepted.' })
class JobQueuedEvent extends JobEventEntry {
  @Field(() => String, { nullable: true, description: "The thread: the client's id, else the server id." })
  threadId!: string | null;

  @Field(() => String, {
    nullable: true,
    description: "The assistant message of the job: the client's id, else the server id.",
  })
  messageId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The workflow. Null for other kinds of jobs.' })
  workflowId!: string | null;

  @Field(() => Int, { nullable: true, description: 'Its position behind the active job of the thread. 1 is next.' })
  queuePosition!: number | null;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'A worker claimed the job.' })
class JobStartedEvent extends JobEventEntry {
  @Field(() => Int, { description: 'The number of the lease: 1, 2, 3 …' })
  epoch!: number;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'The model requested a tool call.' })
class ToolCallEvent extends NodeEventEntry {
  @Field(() => ToolCallState, { description: 'The call.' })
  toolCall!: ToolCallState;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'The status of a tool call changed.' })
class ToolCallUpdatedEvent extends NodeEventEntry {
  @Field(() => ToolCallState, { description: 'The call after the change.' })
  toolCall!: ToolCallState;
}

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'Progress of a tool call, for display only. At most two events per second and call.',
})
class ToolProgressEvent extends JobEventEntry {
  @Field(() => String, { description: 'The call id that the model uses.' })
  callId!: string;

  @Field(() => Int, { description: '1, 2, 3 … within the call.' })
  seqInCall!: number;

  @Field(() => Float, { nullable: true, description: 'The completed amount, in the unit of `total`.' })
  progress!: number | null;

  @Field(() => Float, { nullable: true, description: 'The total amount, if known.' })
  total!: number | null;

  @Field(() => String, { nullable: true, description: 'The current step.' })
  message!: string | null;

  @Field(() => ID, { nullable: true, description: 'The job that the call started.' })
  subJobId!: string | null;
}

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'A plugin hook changed or ended a step of the job.',
})
class HookAppliedEvent extends NodeEventEntry {
  @Field(() => String, { description: 'The name of the hook.' })
  hook!: string;

  @Field(() => String, { description: 'The kind of the hook, such as `beforeToolCall`.' })
  on!: string;

  @Field(() => [String], {
    description:
      'What the hook changed: members of its outcome, such as `arguments` or `deny`. `hook_failed`: the hook failed, so the step was denied.',
  })
  what!: string[];

  @Field(() => String, { description: 'The reason. Empty: the hook gave none.' })
  reason!: string;

  @Field(() => Int, { nullable: true, description: 'The round, if the step belongs to one.' })
  round!: number | null;

  @Field(() => String, { nullable: true, description: 'The call id that the model uses, if the step is a tool call.' })
  callId!: string | null;
}

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'The job waits for a decision, a result, a time or an event.',
})
class JobWaitingEvent extends JobEventEntry {
  @Field(() => [ID], { description: 'The open interrupts.' })
  interruptIds!: string[];
}

@ObjectType({ implements: () => [JobEventEntry], description: 'The job is queued again.' })
class JobRequeuedEvent extends JobEventEntry {
  @Field(() => String, { description: 'Why.' })
  reason!: string;
}

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'A problem that a person should know about. The job continues.',
})
class JobWarningEvent extends NodeEventEntry {
  @Field(() => String, { description: 'Stable, snake_case.' })
  code!: string;

  @Field(() => String, { description: 'A message for people.' })
  text!: string;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'Cancellation of the job was requested.' })
class JobCancelRequestedEvent extends JobEventEntry {
  @Field(() => String, { description: 'Who requested it: `user:<id>`, `key:<id>` or `system`.' })
  by!: string;

  @Field(() => String, { description: 'Why.' })
  reason!: string;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'The job ended. Always the last entry of its log.' })
class JobFinishedEvent extends JobEventEntry {
  @Field(() => JobStatusEnum, { description: 'COMPLETED, FAILED or CANCELLED.' })
  status!: string;

  @Field(() => String, { description: 'Why it ended.' })
  reason!: string;

  @Field(() => JobError, { nullable: true, description: 'Why it failed, if it did.' })
  error!: JobError | null;

  @Field(() => Int, { description: 'Length of its content in UTF-16 units.' })
  contentLength!: number;

  @Field(() => Usage, { description: 'Tokens of all rounds.' })
  usage!: Usage;

  @Field(() => Int, { description: 'Time from acceptance to end, in ms.' })
  durationMs!: number;

  @Field(() => Int, { description: 'How many rounds it took.' })
  rounds!: number;

  @Field(() => Int, { description: 'How many tool calls it made.' })
  toolCalls!: number;
}

/** The members of the union, by their GraphQL names. */
export const jobEventModels = {
  JobSnapshotEvent,
  JobQueuedEvent,
  JobStartedEvent,
  AgentSelectedEvent,
  RoundStartedEvent,
  TextDeltaEvent,
  ReasoningDeltaEvent,
  ModelRetryEvent,
  RoundRestartedEvent,
  RoundFinishedEvent,
  ToolCallEvent,
  ToolCallUpdatedEvent,
  ToolProgressEvent,
  HookAppliedEvent,
  InterruptOpenedEvent,
  InterruptReminderEvent,
  InterruptResolvedEvent,
  JobWaitingEvent,
  JobRequeuedEvent,
  NodeStartedEvent,
  NodeProgressEvent,
  NodeFinishedEvent,
  BranchStartedEvent,
  BranchFinishedEvent,
  RouteSelectedEvent,
  LoopIterationEvent,
  JobWarningEvent,
  JobCancelRequestedEvent,
  JobFinishedEvent,
} as const;

/** The types of values that `jobEvents` sends. */
export const JobEventUnion = createUnionType({
  name: 'JobEvent',
  description: "An entry of a job's log, or a snapshot that replaces all entries up to its number. The list may grow.",
  types: () => Object.values(jobEventModels),
  resolveType: (value: Typed) => value.__typename,
});

/** A value that `workspaceActivity` sends. */
@ObjectType({ description: 'A job changed its status.' })
export class JobActivity {
  @Field(() => ID, { description: 'The job.' })
  jobId!: string;

  @Field(() => JobStatusEnum, { description: 'The current status. Intermediate statuses may be left out.' })
  status!: string;

  @Field(() => Int, { description: 'Number of the newest event in its log.' })
  lastSeq!: number;
}
