import { Args, Context, Mutation, Resolver } from '@nestjs/graphql';

import { AppError } from '#platform';
import { WorkflowsService } from '#workflows';

import type { GraphqlContext } from '../graphql/graphql-context.js';
import { toPayload, type UserError } from '../graphql/user-error.model.js';
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

  @Mutation(() => WorkflowPayload, {
    description:
      'Makes a workflow, or saves the draft of one. A definition with errors is refused. Nothing runs it yet.',
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

  @Mutation(() => WorkflowPayload, {
    description:
      'Takes over a document unchanged, faults and all: as a new workflow, or as the draft of the one with the same `meta.id`.',
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

  @Mutation(() => PublishWorkflowPayload, {
    description: 'Makes the draft the version that runs from now on. For those who run the workspace.',
  })
  publishWorkflow(
    @Args('input', { type: () => PublishWorkflowInput, description: 'Which workflow.' })
    { id, expectedVersion = null }: PublishWorkflowInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toWorkflowPayload(() => this.workflows.publish(member, id, expectedVersion));
  }

  @Mutation(() => WorkflowPayload, {
    description:
      'Lets models call what is published of a workflow, as the tool `workflow.<slug>`, or no more. For those who run the workspace.',
  })
  offerWorkflowAsTool(
    @Args('input', { type: () => OfferWorkflowInput, description: 'Which workflow.' })
    { id, offered }: OfferWorkflowInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toWorkflowPayload(async () => ({ workflow: await this.workflows.offerAsTool(member, id, offered) }));
  }

  @Mutation(() => WorkflowPayload, { description: "Makes a version's text the draft. What runs stays what it is." })
  restoreWorkflow(
    @Args('input', { type: () => RestoreWorkflowInput, description: 'Which version.' })
    { id, version, expectedVersion = null }: RestoreWorkflowInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toWorkflowPayload(async () => ({
      workflow: await this.workflows.restore(member, id, { version, expectedVersion }),
    }));
  }

  @Mutation(() => WorkflowPayload, {
    description:
      'Deletes a workflow: it can be started no more and its name is free. Jobs that run it go on. For those who run the workspace.',
  })
  deleteWorkflow(
    @Args('input', { type: () => DeleteWorkflowInput, description: 'Which workflow.' }) { id }: DeleteWorkflowInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toWorkflowPayload(async () => ({ workflow: await this.workflows.remove(member, id) }));
  }
}

/** Issues are told twice: as sentences where every mutation tells them, and whole. */
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
