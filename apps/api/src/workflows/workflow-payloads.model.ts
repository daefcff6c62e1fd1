import { Field, ObjectType } from '@nestjs/graphql';

import { UserError } from '../graphql/user-error.model.js';
import { WorkflowIssueModel, WorkflowModel, WorkflowVersionModel } from './workflow.model.js';

@ObjectType({ description: 'The workflow as it is now (or was, when deleted), or why nothing changed.' })
export class WorkflowPayload {
  @Field(() => WorkflowModel, { nullable: true, description: 'The workflow.' })
  workflow?: WorkflowModel | null;

  @Field(() => [WorkflowIssueModel], {
    nullable: true,
    description: 'Of a definition that was refused (`workflow_invalid`): what is wrong with it, and where.',
  })
  issues?: readonly WorkflowIssueModel[] | null;

  @Field(() => [UserError], { description: 'Why nothing changed.' })
  userErrors!: UserError[];
}

@ObjectType({ description: 'What was published, or why nothing was.' })
export class PublishWorkflowPayload extends WorkflowPayload {
  @Field(() => WorkflowVersionModel, {
    nullable: true,
    description: 'The version that runs from now on; an old one when the draft says the same.',
  })
  version?: WorkflowVersionModel | null;
}
