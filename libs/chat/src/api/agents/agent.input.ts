import { Field, ID, InputType, Int } from '@nestjs/graphql';

import { ProviderDownActionEnum } from '#jobs/api';
import { Json } from '#platform/api';

import type { ToolEventFormat } from '../../input/agent.js';
import { ToolEventFormatEnum } from './agent.enums.js';

@InputType({
  description:
    'Limits of an agent. `modelRetryForMs` and `onProviderDown` replace the settings of the installation; the others can only tighten its limits. Absent: the value of the installation.',
})
export class AgentLimitsInput {
  @Field(() => Int, { nullable: true, description: 'Maximum number of rounds of a job. The last round has no tools.' })
  maxRounds?: number | null;

  @Field(() => Int, { nullable: true, description: 'Maximum number of tool calls in one round.' })
  maxToolCallsPerRound?: number | null;

  @Field(() => Int, { nullable: true, description: 'Maximum UTF-8 bytes of text and reasoning of one job.' })
  maxOutputBytes?: number | null;

  @Field(() => Int, { nullable: true, description: 'Maximum duration of one model response, in ms.' })
  roundTimeoutMs?: number | null;

  @Field(() => Int, {
    nullable: true,
    description:
      'For how long, in ms, failed model requests are retried with a backoff of at most about one minute: 0 to 604,800,000. After that, the backoff grows to at most ten minutes, until a request succeeds or the job fails.',
  })
  modelRetryForMs?: number | null;

  @Field(() => ProviderDownActionEnum, {
    nullable: true,
    description: 'What its jobs do while the model provider is down.',
  })
  onProviderDown?: 'wait' | 'fail' | null;
}

/** The fields of an agent that a caller may set. */
@InputType({ isAbstract: true })
abstract class AgentFieldsInput {
  @Field(() => String, {
    nullable: true,
    description:
      'Its readable id, unique in the workspace: 1 to 64 of a-z, 0-9, `.`, `_`, `-`. Absent: derived from `name`.',
  })
  slug?: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'What it is for, at most 1,000 characters. `auto` chooses an agent by this text.',
  })
  description?: string | null;

  @Field(() => Int, {
    nullable: true,
    description:
      'Maximum number of jobs of the agent that run at once, counted over all its versions. Null: no cap of its own; the caps of the workspace and the user still apply.',
  })
  maxRunningJobs?: number | null;

  @Field(() => String, {
    nullable: true,
    description: 'The model. Null: the model of the request, else the default of the provider.',
  })
  model?: string | null;

  @Field(() => String, { nullable: true, description: 'Its system prompt, at most 100,000 characters.' })
  instructions?: string | null;

  @Field(() => [String], {
    nullable: true,
    description: 'Server tools that it may call: names, or globs with `*`, `?`.',
  })
  tools?: string[] | null;

  @Field(() => [String], {
    nullable: true,
    description:
      'Tools of the server that the client runs in place of the server: names or globs. They take precedence over `tools`.',
  })
  externalTools?: string[] | null;

  @Field(() => AgentLimitsInput, { nullable: true, description: 'All of its limits.' })
  limits?: AgentLimitsInput | null;

  @Field(() => Json, {
    nullable: true,
    description: `Sampling fields with OpenAI's names, such as \`{"temperature":0.2}\`. They override those of a request.`,
  })
  parameters?: unknown;

  @Field(() => Json, {
    nullable: true,
    description:
      "Its layer of the approval policy, in the format of the workspace's policy. It can only tighten. Null: none.",
  })
  toolApproval?: unknown;

  @Field(() => ToolEventFormatEnum, {
    nullable: true,
    description: 'How `/v1` shows calls of server tools to clients without `X-Tool-Event-Format`. Null: INLINE.',
  })
  toolEventFormat?: ToolEventFormat | null;
}

@InputType({ description: 'The agent to create.' })
export class CreateAgentInput extends AgentFieldsInput {
  @Field(() => String, { description: 'Its name, 1 to 100 characters, unique in the workspace.' })
  name!: string;

  @Field(() => Boolean, {
    defaultValue: false,
    description:
      'If the workspace already has an agent with this slug (or with this name, if `slug` is absent), updates that agent. Absent fields do not change.',
  })
  upsert!: boolean;
}

@InputType({ description: 'The changes of an agent. Absent fields do not change.' })
export class UpdateAgentInput extends AgentFieldsInput {
  @Field(() => ID, { description: 'The agent: id, slug or name.' })
  id!: string;

  @Field(() => String, { nullable: true, description: 'Its name, 1 to 100 characters.' })
  name?: string | null;

  @Field(() => Int, {
    nullable: true,
    description: 'The `version` that the change is based on. Refused if there is a newer one.',
  })
  expectedVersion?: number | null;
}

@InputType({ description: 'The agent and the version to restore.' })
export class RestoreAgentVersionInput {
  @Field(() => ID, { description: 'The agent: id, slug or name.' })
  id!: string;

  @Field(() => Int, { description: 'The version.' })
  version!: number;
}

@InputType({ description: 'The agent to act on.' })
export class AgentRefInput {
  @Field(() => ID, { description: 'The agent: id, slug or name.' })
  id!: string;
}
