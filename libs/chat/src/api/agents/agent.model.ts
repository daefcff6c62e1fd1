import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { ProviderDownActionEnum } from '#jobs/api';
import { connectionOf, DateTime, Json, payloadOf } from '#platform/api';

import type { ToolEventFormat } from '../../input/agent.js';
import { ToolEventFormatEnum } from './agent.enums.js';

/** The limits of an agent. A null limit leaves that of the installation. */
@ObjectType('AgentLimits', {
  description:
    'Limits of an agent. `modelRetryForMs` and `onProviderDown` replace the settings of the installation; the others can only tighten its limits. Null: the value of the installation.',
})
export class AgentLimitsModel {
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

/** The settings of an agent version. */
@ObjectType({ isAbstract: true })
abstract class AgentSettingsModel {
  @Field(() => String, {
    nullable: true,
    description: 'The model. Null: the model of the request, else the default of the provider.',
  })
  model!: string | null;

  @Field(() => String, { description: 'Its system prompt, placed before all messages of the client.' })
  instructions!: string;

  @Field(() => [String], { description: 'Server tools that it may call: names, or globs with `*` and `?`.' })
  tools!: readonly string[];

  @Field(() => [String], {
    description:
      'Tools of the server that the client runs in place of the server: names or globs. They take precedence over `tools`.',
  })
  externalTools!: readonly string[];

  @Field(() => AgentLimitsModel, { description: 'Its limits.' })
  limits!: AgentLimitsModel;

  @Field(() => Json, { description: "Sampling fields with OpenAI's names. They override those of a request." })
  parameters!: unknown;

  @Field(() => Json, { nullable: true, description: 'Its layer of the approval policy. Null: it adds no rules.' })
  toolApproval!: unknown;

  @Field(() => ToolEventFormatEnum, {
    nullable: true,
    description: 'How `/v1` shows calls of server tools to clients without `X-Tool-Event-Format`. Null: INLINE.',
  })
  toolEventFormat!: ToolEventFormat | null;
}

/** An agent with its current settings. */
@ObjectType('Agent', { description: 'A stored preset of the workspace: model, system prompt, tools and limits.' })
export class AgentModel extends AgentSettingsModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => String, { description: 'Its name, unique in the workspace.' })
  name!: string;

  @Field(() => String, {
    description: 'Its readable id, which OpenAI clients send as `model`. It does not change when the agent is renamed.',
  })
  slug!: string;

  @Field(() => String, { description: 'What it is for. `auto` chooses an agent by this text.' })
  description!: string;

  @Field(() => Int, {
    nullable: true,
    description:
      'Maximum number of jobs of the agent that run at once, counted over all its versions. Null: no cap of its own; the caps of the workspace and the user still apply.',
  })
  maxRunningJobs!: number | null;

  @Field(() => Int, { description: 'Its current version. Pass it as `expectedVersion`.' })
  version!: number;

  @Field(() => Boolean, { description: 'Whether it is used when `auto` finds no fitting agent.' })
  isDefault!: boolean;

  @Field(() => String, { description: 'Who created it: `user:<id>` or `key:<id>`.' })
  createdBy!: string;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it was last changed.' })
  updatedAt!: number;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When it was archived; set only in the payload of `archiveAgent`.',
  })
  archivedAt!: number | null;
}

@ObjectType('AgentVersion', { description: "An immutable version of an agent's settings." })
export class AgentVersionModel extends AgentSettingsModel {
  @Field(() => ID, { description: 'The agent.' })
  agentId!: string;

  @Field(() => Int, { description: '1, 2, 3 …' })
  number!: number;

  @Field(() => String, { description: 'SHA-256 (hex) of its settings.' })
  hash!: string;

  @Field(() => String, { description: 'Who created it: `user:<id>` or `key:<id>`.' })
  createdBy!: string;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;
}

/** The agent of a job. */
@ObjectType({ description: 'The agent version that a job uses.' })
export class JobAgent {
  @Field(() => ID, { description: 'The id of the agent, which may be archived by now.' })
  id!: string;

  @Field(() => Int, { description: 'The version of the agent that the job uses.' })
  version!: number;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'Its readable id.' })
  slug!: string;
}

export const AgentConnection = connectionOf(AgentModel, 'Agent');
export const AgentVersionConnection = connectionOf(AgentVersionModel, 'AgentVersion');

export const AgentPayload = payloadOf({
  name: 'AgentPayload',
  description: 'The agent after the change (before it, if archived), or the reasons why nothing changed.',
  fields: { agent: [AgentModel, 'The agent.'] },
});
