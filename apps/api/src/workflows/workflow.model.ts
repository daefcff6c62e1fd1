import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf } from '../graphql/connections/connection.model.js';
import { DateTime } from '../graphql/scalars/date-time.scalar.js';

@ObjectType('WorkflowIssue', { description: 'Something that is wrong with a definition, or looks like it.' })
export class WorkflowIssueModel {
  @Field(() => String, { description: '`error`: it is neither saved nor started. `warning`: it can be run.' })
  type!: string;

  @Field(() => String, { description: 'Stable, such as `CYCLE_DETECTED` (docs/workflows.md). The list grows.' })
  code!: string;

  @Field(() => String, { description: 'A sentence that says what to do.' })
  message!: string;

  @Field(() => String, { nullable: true, description: 'The node at fault, if it is one.' })
  nodeId?: string;

  @Field(() => String, { nullable: true, description: 'The edge at fault, if it is one.' })
  edgeId?: string;

  @Field(() => String, { description: 'Where in the document: a JSON pointer (RFC 6901).' })
  path!: string;
}

@ObjectType('WorkflowValidation', { description: 'What was found in a definition.' })
export class WorkflowValidationModel {
  @Field(() => Boolean, { description: 'Whether there are no errors.' })
  isValid!: boolean;

  @Field(() => [WorkflowIssueModel], { description: 'What keeps it from being saved.' })
  errors!: WorkflowIssueModel[];

  @Field(() => [WorkflowIssueModel], { description: 'What may not be as it was meant.' })
  warnings!: WorkflowIssueModel[];
}

/** A published definition. Its texts are added by `WorkflowVersionFieldsResolver`. */
@ObjectType('WorkflowVersion', { description: 'A published definition of a workflow. It never changes.' })
export class WorkflowVersionModel {
  @Field(() => ID, { description: 'The workflow.' })
  workflowId!: string;

  @Field(() => Int, { description: '1, 2, 3 …' })
  number!: number;

  @Field(() => String, {
    description: 'SHA-256 (hex) of what it says, whatever its whitespace and the order of members.',
  })
  hash!: string;

  @Field(() => String, { description: 'Who published it: `user:<id>` or `key:<id>`.' })
  createdBy!: string;

  @Field(() => DateTime, { description: 'When it was published.' })
  createdAt!: number;
}

/** A workflow of the workspace. What is read or computed is added by `WorkflowFieldsResolver`. */
@ObjectType('Workflow', { description: 'A workflow of the workspace.' })
export class WorkflowModel {
  @Field(() => ID, { description: 'Our id of it.' })
  id!: string;

  @Field(() => String, {
    nullable: true,
    description: 'The id that its document came with (`meta.id`); works wherever a workflow is named.',
  })
  clientId!: string | null;

  @Field(() => String, { description: 'Its name (`meta.name`), unique in the workspace.' })
  name!: string;

  @Field(() => String, {
    description: 'The name that `/v1` knows it by, `workflow/<slug>`: from its first name, kept when it is renamed.',
  })
  slug!: string;

  @Field(() => String, {
    description:
      'The tool that models call, if it is offered: `workflow.<slug>`, or what it was called before workflows had slugs.',
  })
  toolName!: string;

  @Field(() => String, { description: 'What it is for (`meta.description`).' })
  description!: string;

  @Field(() => Int, { description: 'Counts saves of the draft; goes into `expectedVersion`.' })
  draftVersion!: number;

  @Field(() => String, { description: 'SHA-256 (hex) of what the draft says; equal to that of a version: the same.' })
  draftHash!: string;

  @Field(() => Int, { nullable: true, description: 'The version that runs; null: nothing was published yet.' })
  publishedVersion!: number | null;

  @Field(() => Int, { description: 'How many versions there are.' })
  latestVersion!: number;

  @Field(() => Boolean, { description: 'Whether models may call what is published of it (docs/workflows.md).' })
  offeredAsTool!: boolean;

  @Field(() => String, { description: 'Who made it: `user:<id>` or `key:<id>`.' })
  createdBy!: string;

  @Field(() => DateTime, { description: 'When it was made.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it was last saved or published.' })
  updatedAt!: number;
}

export const WorkflowConnection = connectionOf(WorkflowModel, 'Workflow');
export const WorkflowVersionConnection = connectionOf(WorkflowVersionModel, 'WorkflowVersion');
