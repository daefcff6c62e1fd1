import { createUnionType, Field, Float, ID, Int, ObjectType } from '@nestjs/graphql';

import { AgentSelectedEvent } from '../agents/agent-event.model.js';
import {
  InterruptOpenedEvent,
  InterruptReminderEvent,
  InterruptResolvedEvent,
} from '../interrupts/interrupt-event.model.js';
import { JobStatusEnum } from './job.enums.js';
import { JobError } from './job.model.js';
import { JobEventEntry, NodeEventEntry, type Typed } from './job-event-entry.model.js';
import { OpenInterrupt, SnapshotRoundState, ToolCallState } from './job-snapshot.model.js';
import { Usage } from './round.model.js';
import {
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
  NodeStartedEvent,
  RouteSelectedEvent,
} from './workflow-event.model.js';

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'The job as it stood at number `seq`: begin with this; numbers go on after it.',
})
class JobSnapshotEvent extends JobEventEntry {
  @Field(() => Boolean, {
    description: 'Whether what the viewer had is void: the events since its cursor are no longer kept.',
  })
  reset!: boolean;

  @Field(() => JobStatusEnum, { description: 'Where the job stood.' })
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
  @Field(() => String, { nullable: true, description: 'The thread, as the starter names it.' })
  threadId!: string | null;

  @Field(() => String, { nullable: true, description: 'The message it will write, as the starter names it.' })
  messageId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The workflow it runs; null for jobs of other kinds.' })
  workflowId!: string | null;

  @Field(() => Int, { nullable: true, description: 'Its place behind the active job of the thread: 1 is next.' })
  queuePosition!: number | null;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'A worker took the job.' })
class JobStartedEvent extends JobEventEntry {
  @Field(() => Int, { description: 'Which lease of the job this is: 1, 2, 3 …' })
  epoch!: number;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'The model asked for a tool.' })
class ToolCallEvent extends NodeEventEntry {
  @Field(() => ToolCallState, { description: 'The call.' })
  toolCall!: ToolCallState;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'A tool call moved on.' })
class ToolCallUpdatedEvent extends NodeEventEntry {
  @Field(() => ToolCallState, { description: 'The call as it stands now.' })
  toolCall!: ToolCallState;
}

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'How far a tool call is; at most two a second for each call. For display only.',
})
class ToolProgressEvent extends JobEventEntry {
  @Field(() => String, { description: 'The id the model knows the call by.' })
  callId!: string;

  @Field(() => Int, { description: '1, 2, 3 … within the call.' })
  seqInCall!: number;

  @Field(() => Float, { nullable: true, description: 'How much is done, in the unit of `total`.' })
  progress!: number | null;

  @Field(() => Float, { nullable: true, description: 'How much there is to do, if that is known.' })
  total!: number | null;

  @Field(() => String, { nullable: true, description: 'What is being done.' })
  message!: string | null;

  @Field(() => ID, { nullable: true, description: 'The job that the call has become.' })
  subJobId!: string | null;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'The job waits for something from outside.' })
class JobWaitingEvent extends JobEventEntry {
  @Field(() => [ID], { description: 'What it waits for.' })
  interruptIds!: string[];
}

@ObjectType({ implements: () => [JobEventEntry], description: 'The job is queued again.' })
class JobRequeuedEvent extends JobEventEntry {
  @Field(() => String, { description: 'Why.' })
  reason!: string;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'Something a person should know; the job goes on.' })
class JobWarningEvent extends NodeEventEntry {
  @Field(() => String, { description: 'Stable, snake_case.' })
  code!: string;

  @Field(() => String, { description: 'A sentence for a person.' })
  text!: string;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'Somebody asked the job to stop.' })
class JobCancelRequestedEvent extends JobEventEntry {
  @Field(() => String, { description: 'Who: `user:<id>`, `key:<id>` or `system`.' })
  by!: string;

  @Field(() => String, { description: 'Why.' })
  reason!: string;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'The job is over. Always the last entry of its log.' })
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

  @Field(() => Int, { description: 'From acceptance to end, in ms.' })
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
  RoundRestartedEvent,
  RoundFinishedEvent,
  ToolCallEvent,
  ToolCallUpdatedEvent,
  ToolProgressEvent,
  InterruptOpenedEvent,
  InterruptReminderEvent,
  InterruptResolvedEvent,
  JobWaitingEvent,
  JobRequeuedEvent,
  NodeStartedEvent,
  NodeFinishedEvent,
  BranchStartedEvent,
  BranchFinishedEvent,
  RouteSelectedEvent,
  LoopIterationEvent,
  JobWarningEvent,
  JobCancelRequestedEvent,
  JobFinishedEvent,
} as const;

/** What `jobEvents` sends. */
export const JobEventUnion = createUnionType({
  name: 'JobEvent',
  description:
    'An entry of the log of a job, or a snapshot that stands for all entries up to its number. The list grows.',
  types: () => Object.values(jobEventModels),
  resolveType: (value: Typed) => value.__typename,
});

/** What `workspaceActivity` sends. */
@ObjectType({ description: 'A job has moved to another status.' })
export class JobActivity {
  @Field(() => ID, { description: 'The job.' })
  jobId!: string;

  @Field(() => JobStatusEnum, { description: 'Where it stands now. Statuses in between may be left out.' })
  status!: string;

  @Field(() => Int, { description: 'Number of the newest event in its log.' })
  lastSeq!: number;
}
