import { Field, ID, InputType, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf } from '../graphql/connections/connection.model.js';
import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { Json } from '../graphql/scalars/json.scalar.js';
import { UserError } from '../graphql/user-error.model.js';

const definitionText = 'Its definition, as `registerTool` takes it, with all defaults filled in (docs/tools.md).';

@ObjectType('WorkspaceToolVersion', { description: 'One of the definitions that a tool has had.' })
export class WorkspaceToolVersionModel {
  @Field(() => Int, { description: '1, 2, 3 …' })
  version!: number;

  @Field(() => Json, { description: definitionText })
  definition!: unknown;

  @Field(() => String, { description: 'Who made it: `user:<id>` or `key:<id>`.' })
  createdBy!: string;

  @Field(() => DateTime, { description: 'When it was made.' })
  createdAt!: number;
}

@ObjectType('WorkspaceTool', { description: 'An HTTP tool that the workspace has defined.' })
export class WorkspaceToolModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => String, { description: 'Its name, by which the model calls it.' })
  name!: string;

  @Field(() => Boolean, { description: 'A disabled tool is neither listed nor run.' })
  enabled!: boolean;

  @Field(() => Int, { description: '1, 2, 3 …; each change of the definition makes one.' })
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
}

@InputType({ description: 'A new definition of a tool.' })
export class UpdateToolInput {
  @Field(() => ID, { description: 'Which tool.' })
  id!: string;

  @Field(() => Json, { description: 'The whole new definition, not only what changes (docs/tools.md).' })
  definition!: unknown;
}

@InputType({ description: 'Which tool to remove.' })
export class RemoveToolInput {
  @Field(() => ID, { description: 'The tool.' })
  id!: string;
}

@InputType({ description: 'Whether a tool can be used.' })
export class SetToolEnabledInput {
  @Field(() => ID, { description: 'Which tool.' })
  id!: string;

  @Field(() => Boolean, { description: 'Whether it can be used from now on.' })
  enabled!: boolean;
}

@InputType({ description: 'What to try out: a tool by `id`, or a `definition` that is not stored.' })
export class TestToolInput {
  @Field(() => ID, { nullable: true, description: 'A tool of the workspace, also a disabled one.' })
  id?: string | null;

  @Field(() => Json, { nullable: true, description: 'A draft (docs/tools.md). Not together with `id`.' })
  definition?: unknown;

  @Field(() => Json, { nullable: true, description: 'The arguments, an object; absent: none.' })
  arguments?: unknown;
}

@InputType({ description: 'Which hosts the tools of the workspace may ask.' })
export class SetOutboundHostsInput {
  @Field(() => [String], {
    description: 'Hosts such as `api.example.com`, or `*.example.com` for all names below it. Empty: any public host.',
  })
  hosts!: string[];
}

@ObjectType({ description: 'The tool as it is now (or was, when removed), or why nothing changed.' })
export class WorkspaceToolPayload {
  @Field(() => WorkspaceToolModel, { nullable: true, description: 'The tool.' })
  tool?: WorkspaceToolModel | null;

  @Field(() => [UserError], { description: 'Why nothing changed.' })
  userErrors!: UserError[];
}

@ObjectType('ToolTrial', { description: 'How one call of a tool went. Secrets are redacted.' })
export class ToolTrialModel {
  @Field(() => Int, { nullable: true, description: 'The HTTP status of the answer; null: there was none.' })
  status!: number | null;

  @Field(() => Int, { description: 'How long it took, in ms.' })
  durationMs!: number;

  @Field(() => String, { nullable: true, description: 'What the model would read; null: the call failed.' })
  result!: string | null;

  @Field(() => String, { nullable: true, description: 'Why it failed, as the model would read it.' })
  error!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'Which setting of the operator would have let it go out; the model reads nothing of it.',
  })
  hint!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'The beginning of the answer as it came, 4,000 characters at most.',
  })
  excerpt!: string | null;
}

@ObjectType({ description: 'How the call went, or why there was none.' })
export class TestToolPayload {
  @Field(() => ToolTrialModel, { nullable: true, description: 'The call.' })
  trial?: ToolTrialModel | null;

  @Field(() => [UserError], { description: 'Why there was no call.' })
  userErrors!: UserError[];
}

@ObjectType({ description: 'The list as it is now, or why it did not change.' })
export class OutboundHostsPayload {
  @Field(() => [String], { nullable: true, description: 'The hosts, in the form in which they are compared.' })
  hosts?: readonly string[] | null;

  @Field(() => [UserError], { description: 'Why nothing changed.' })
  userErrors!: UserError[];
}
