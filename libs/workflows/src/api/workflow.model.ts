import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime } from '#platform/api';

@ObjectType('WorkflowIssue', { description: 'An error or a warning about a definition.' })
export class WorkflowIssueModel {
  @Field(() => String, { description: '`error`: the definition cannot be saved or started. `warning`: it can run.' })
  type!: string;

  @Field(() => String, {
    description: 'A stable code such as `CYCLE_DETECTED` (docs/workflow-definitions.md). The list may grow.',
  })
  code!: string;

  @Field(() => String, { description: 'What is wrong and how to fix it.' })
  message!: string;

  @Field(() => String, { nullable: true, description: 'The node concerned, if any.' })
  nodeId?: string;

  @Field(() => String, { nullable: true, description: 'The edge concerned, if any.' })
  edgeId?: string;

  @Field(() => String, { description: 'The place in the document as a JSON pointer (RFC 6901).' })
  path!: string;
}

@ObjectType('WorkflowValidation', { description: 'The result of a validation.' })
export class WorkflowValidationModel {
  @Field(() => Boolean, { description: 'Whether there are no errors.' })
  isValid!: boolean;

  @Field(() => [WorkflowIssueModel], { description: 'Errors, which prevent a save.' })
  errors!: WorkflowIssueModel[];

  @Field(() => [WorkflowIssueModel], { description: 'Warnings.' })
  warnings!: WorkflowIssueModel[];
}

/** A published definition. `WorkflowVersionFieldsResolver` adds its texts. */
@ObjectType('WorkflowVersion', { description: 'A published definition of a workflow. It never changes.' })
export class WorkflowVersionModel {
  @Field(() => ID, { description: 'The workflow.' })
  workflowId!: string;

  @Field(() => Int, { description: '1, 2, 3 …' })
  number!: number;

  @Field(() => String, {
    description: 'SHA-256 (hex) of its content, independent of whitespace and key order.',
  })
  hash!: string;

  @Field(() => String, { description: 'Who published it: `user:<id>` or `key:<id>`.' })
  createdBy!: string;

  @Field(() => DateTime, { description: 'When it was published.' })
  createdAt!: number;
}

/** A workflow of the workspace. `WorkflowFieldsResolver` adds fields that need a query or a computation. */
@ObjectType('Workflow', { description: 'A workflow of the workspace.' })
export class WorkflowModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => String, {
    nullable: true,
    description: 'The id of its document (`meta.id`). Accepted wherever a workflow id is.',
  })
  clientId!: string | null;

  @Field(() => String, { description: 'Its name (`meta.name`), unique in the workspace.' })
  name!: string;

  @Field(() => String, {
    description: 'Its id in `/v1`, `workflow/<slug>`. Derived from its first name and kept when it is renamed.',
  })
  slug!: string;

  @Field(() => String, {
    description: 'The tool name, if offered: `workflow.<slug>`, or its older name.',
  })
  toolName!: string;

  @Field(() => String, { description: 'What it is for (`meta.description`).' })
  description!: string;

  @Field(() => Int, { description: 'The number of saves. Pass it as `expectedVersion`.' })
  draftVersion!: number;

  @Field(() => String, { description: "SHA-256 (hex) of the draft's content. Equal hashes mean equal content." })
  draftHash!: string;

  @Field(() => Int, { nullable: true, description: 'The published version. Null: none.' })
  publishedVersion!: number | null;

  @Field(() => Int, { description: 'How many versions there are.' })
  latestVersion!: number;

  @Field(() => Boolean, { description: 'Whether models may call its published version (docs/workflows.md).' })
  offeredAsTool!: boolean;

  @Field(() => String, { description: 'Who created it: `user:<id>` or `key:<id>`.' })
  createdBy!: string;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it was last saved or published.' })
  updatedAt!: number;
}

export const WorkflowConnection = connectionOf(WorkflowModel, 'Workflow');
export const WorkflowVersionConnection = connectionOf(WorkflowVersionModel, 'WorkflowVersion');
