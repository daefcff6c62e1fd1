import { Field, ObjectType } from '@nestjs/graphql';

import { UserError } from '#platform/api';

import { WorkflowIssueModel, WorkflowModel, WorkflowVersionModel } from './workflow.model.js';

@ObjectType({
  description: 'The workflow after the change (before it, if deleted), or the reasons why nothing changed.',
})
export class WorkflowPayload {
  @Field(() => WorkflowModel, { nullable: true, description: 'The workflow.' })
  workflow?: WorkflowModel | null;

  @Field(() => [WorkflowIssueModel], {
    nullable: true,
    description: 'For a refused definition (`workflow_invalid`): the issues and their places.',
  })
  issues?: readonly WorkflowIssueModel[] | null;

  @Field(() => [UserError], { description: 'The reasons why nothing changed.' })
  userErrors!: UserError[];
}

@ObjectType({ description: 'The published version, or the reasons why nothing was published.' })
export class PublishWorkflowPayload extends WorkflowPayload {
  @Field(() => WorkflowVersionModel, {
    nullable: true,
    description: 'The version that new jobs run. An existing one if the draft has the same content.',
  })
  version?: WorkflowVersionModel | null;
}
