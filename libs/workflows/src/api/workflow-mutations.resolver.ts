import { Args, Context, Mutation, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { AppError } from '#platform';
import { toPayload, type UserError } from '#platform/api';

import { WorkflowsService } from '../definitions/workflows.service.js';
import {
  DeleteWorkflowInput,
  ImportWorkflowInput,
  OfferWorkflowInput,
  PublishWorkflowInput,
  RestoreWorkflowInput,
  SaveWorkflowInput,
} from './workflow.input.js';
import { PublishWorkflowPayload, WorkflowPayload } from './workflow-payloads.model.js';

/** Changes the workflows of a workspace. */
@Resolver()
export class WorkflowMutationsResolver {
  constructor(private readonly workflows: WorkflowsService) {}

  @RequireAbility('change', 'Workflow')
  @Mutation(() => WorkflowPayload, {
    description:
      'Creates a workflow, or saves the draft of one. A definition with errors is refused. A draft runs only after it is published.',
  })
  saveWorkflow(
    @Args('input', { type: () => SaveWorkflowInput, description: 'The draft.' })
    { id = null, definition, expectedVersion = null }: SaveWorkflowInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toWorkflowPayload(async () => ({
      workflow: await this.workflows.save(member, { id, definition, expectedVersion }),
    }));
  }

  @RequireAbility('create', 'Workflow')
  @Mutation(() => WorkflowPayload, {
    description:
      'Imports a document unchanged, even with errors: as a new workflow, or as the draft of the one with the same `meta.id`.',
  })
  importWorkflow(
    @Args('input', { type: () => ImportWorkflowInput, description: 'The document.' })
    { definition, expectedVersion = null }: ImportWorkflowInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toWorkflowPayload(async () => ({
      workflow: await this.workflows.import(member, { definition, expectedVersion }),
    }));
  }

  @RequireAbility('manage', 'Workflow')
  @Mutation(() => PublishWorkflowPayload, {
    description: 'Publishes the draft as the version that new jobs run. Requires the role admin.',
  })
  publishWorkflow(
    @Args('input', { type: () => PublishWorkflowInput, description: 'The workflow.' })
    { id, expectedVersion = null }: PublishWorkflowInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toWorkflowPayload(() => this.workflows.publish(member, id, expectedVersion));
  }

  @RequireAbility('manage', 'Workflow')
  @Mutation(() => WorkflowPayload, {
    description:
      'Offers the published version of a workflow to models as the tool `workflow.<slug>`, or withdraws it. Requires the role admin.',
  })
  offerWorkflowAsTool(
    @Args('input', { type: () => OfferWorkflowInput, description: 'The workflow.' })
    { id, offered }: OfferWorkflowInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toWorkflowPayload(async () => ({ workflow: await this.workflows.offerAsTool(member, id, offered) }));
  }

  @RequireAbility('change', 'Workflow')
  @Mutation(() => WorkflowPayload, {
    description: "Copies a version's text to the draft. The published version stays.",
  })
  restoreWorkflow(
    @Args('input', { type: () => RestoreWorkflowInput, description: 'The version.' })
    { id, version, expectedVersion = null }: RestoreWorkflowInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toWorkflowPayload(async () => ({
      workflow: await this.workflows.restore(member, id, { version, expectedVersion }),
    }));
  }

  @RequireAbility('manage', 'Workflow')
  @Mutation(() => WorkflowPayload, {
    description: 'Deletes a workflow and frees its name. Its running jobs continue. Requires the role admin.',
  })
  deleteWorkflow(
    @Args('input', { type: () => DeleteWorkflowInput, description: 'The workflow.' }) { id }: DeleteWorkflowInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toWorkflowPayload(async () => ({ workflow: await this.workflows.remove(member, id) }));
  }
}

/** Returns the issues both as user errors, like every mutation, and as objects. */
async function toWorkflowPayload<T extends object>(
  run: () => Promise<T>,
): Promise<Partial<T> & { readonly userErrors: readonly UserError[]; readonly issues: unknown }> {
  let issues: unknown = null;
  const payload = await toPayload(async () => {
    try {
      return await run();
    } catch (error) {
      if (error instanceof AppError && error.code === 'workflow_invalid') issues = error.details['issues'];
      throw error;
    }
  });
  return { ...payload, issues };
}
