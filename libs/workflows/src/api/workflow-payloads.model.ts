import { Field, ObjectType } from '@nestjs/graphql';

import { payloadOf } from '#platform/api';

import { WorkflowIssueModel, WorkflowModel, WorkflowVersionModel } from './workflow.model.js';

export const WorkflowPayload = payloadOf({
  name: 'WorkflowPayload',
  description: 'The workflow after the change (before it, if deleted), or the reasons why nothing changed.',
  fields: {
    workflow: [WorkflowModel, 'The workflow.'],
    issues: [[WorkflowIssueModel], 'For a refused definition (`workflow_invalid`): the issues and their places.'],
  },
});

@ObjectType({ description: 'The published version, or the reasons why nothing was published.' })
export class PublishWorkflowPayload extends WorkflowPayload {
  @Field(() => WorkflowVersionModel, {
    nullable: true,
    description: 'The version that new jobs run. An existing one if the draft has the same content.',
  })
  version?: WorkflowVersionModel | null;
}
