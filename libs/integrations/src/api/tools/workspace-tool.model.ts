import { Field, ID, InputType, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime, Json, payloadOf } from '#platform/api';

const definitionText = 'Its definition in the format of `registerTool`, with all defaults filled in (docs/tools.md).';

@ObjectType('WorkspaceToolVersion', { description: "A version of a tool's definition." })
export class WorkspaceToolVersionModel {
  @Field(() => Int, { description: '1, 2, 3 …' })
  version!: number;

  @Field(() => Json, { description: definitionText })
  definition!: unknown;

  @Field(() => String, { description: 'Who created it: `user:<id>` or `key:<id>`.' })
  createdBy!: string;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;
}

@ObjectType('WorkspaceTool', { description: 'An HTTP tool that the workspace has defined.' })
export class WorkspaceToolModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => String, { description: 'Its name, which the model calls.' })
  name!: string;

  @Field(() => Boolean, { description: 'Whether it is enabled. A disabled tool is neither listed nor run.' })
  enabled!: boolean;

  @Field(() => Int, { description: '1, 2, 3 … Each change of the definition creates one.' })
  version!: number;

  @Field(() => Json, { description: definitionText })
  definition!: unknown;

  @Field(() => DateTime, { description: 'When it was registered.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it last changed.' })
  updatedAt!: number;
}

export const WorkspaceToolConnection = connectionOf(WorkspaceToolModel, 'WorkspaceTool');

@InputType({ description: 'A tool to register.' })
export class RegisterToolInput {
  @Field(() => Json, { description: 'Its definition (docs/tools.md).' })
  definition!: unknown;

  @Field(() => Boolean, {
    defaultValue: false,
    description:
      'Replaces the definition of the tool with this name if there is one. An equal definition creates no version.',
  })
  upsert!: boolean;
}

@InputType({ description: 'A new definition of a tool.' })
export class UpdateToolInput {
  @Field(() => ID, { description: 'The tool.' })
  id!: string;

  @Field(() => Json, { description: 'The complete new definition (docs/tools.md).' })
  definition!: unknown;
}

@InputType({ description: 'The tool to remove.' })
export class RemoveToolInput {
  @Field(() => ID, { description: 'The tool.' })
  id!: string;
}

@InputType({ description: 'Whether a tool can be used.' })
export class SetToolEnabledInput {
  @Field(() => ID, { description: 'The tool.' })
  id!: string;

  @Field(() => Boolean, { description: 'Whether it can be used from now on.' })
  enabled!: boolean;
}

@InputType({ description: 'The tool to test: a stored one by `id`, or a `definition` that is not stored.' })
export class TestToolInput {
  @Field(() => ID, { nullable: true, description: 'A tool of the workspace, also a disabled one.' })
  id?: string | null;

  @Field(() => Json, { nullable: true, description: 'A definition (docs/tools.md). Cannot be combined with `id`.' })
  definition?: unknown;

  @Field(() => Json, { nullable: true, description: 'The arguments, an object; absent: none.' })
  arguments?: unknown;
}

@InputType({ description: 'The hosts that the tools of the workspace may reach.' })
export class SetOutboundHostsInput {
  @Field(() => [String], {
    description: 'Hosts such as `api.example.com`, or `*.example.com` for all names below it. Empty: any public host.',
  })
  hosts!: string[];
}

export const WorkspaceToolPayload = payloadOf({
  name: 'WorkspaceToolPayload',
  description: 'The tool after the change (before it, if removed), or the reasons why nothing changed.',
  fields: { tool: [WorkspaceToolModel, 'The tool.'] },
});

export const ValidateToolPayload = payloadOf({
  name: 'ValidateToolPayload',
  description: 'A definition with its defaults, or its faults.',
  fields: { definition: [Json, definitionText] },
  errors: 'The faults of the definition.',
});

@ObjectType('ToolTrial', { description: 'The result of one call of a tool. Secrets are redacted.' })
export class ToolTrialModel {
  @Field(() => Int, { nullable: true, description: 'The HTTP status of the response. Null: no response.' })
  status!: number | null;

  @Field(() => Int, { description: 'How long it took, in ms.' })
  durationMs!: number;

  @Field(() => String, { nullable: true, description: 'The result that the model would read. Null: the call failed.' })
  result!: string | null;

  @Field(() => String, { nullable: true, description: 'Why it failed, as the model would read it.' })
  error!: string | null;

  @Field(() => String, {
    nullable: true,
    description: "The operator's setting that would have allowed the call. The model does not read it.",
  })
  hint!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'The first 4,000 characters of the raw response.',
  })
  excerpt!: string | null;
}

export const TestToolPayload = payloadOf({
  name: 'TestToolPayload',
  description: 'The result of the call, or the reasons why there was none.',
  fields: { trial: [ToolTrialModel, 'The call.'] },
  errors: 'The reasons why there was no call.',
});

export const OutboundHostsPayload = payloadOf({
  name: 'OutboundHostsPayload',
  description: 'The list after the change, or the reasons why it did not change.',
  fields: { hosts: [[String], 'The hosts in normalized form.'] },
});
