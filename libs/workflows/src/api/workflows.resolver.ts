import { Args, Context, ID, Int, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import type { Page } from '#platform';
import {
  type ConnectionOf,
  cpuBoundCost,
  ForwardPageArgs,
  Json,
  orNull,
  pageCost,
  positionOfCursor,
  toForwardConnection,
  toForwardPage,
  toWantedPage,
} from '#platform/api';

import type { WorkflowIssue } from '../definition/validation/issue.js';
import type { Validation } from '../definition/validation/validate.js';
import type { Workflow, WorkflowVersion } from '../definitions/workflow.js';
import { workflowNotFound } from '../definitions/workflows.errors.js';
import { WorkflowsService } from '../definitions/workflows.service.js';
import {
  WorkflowConnection,
  WorkflowIssueModel,
  WorkflowModel,
  WorkflowValidationModel,
  WorkflowVersionConnection,
  WorkflowVersionModel,
} from './workflow.model.js';

const kind = 'workflows';
const versionKind = 'workflowVersions';
/** A definition can have 1 MiB, so one GraphQL document can read only a few. */
const definitionCost = 1_000;

/** Shows the workflows of a workspace. */
@Resolver(() => WorkflowModel)
export class WorkflowsResolver {
  constructor(private readonly workflows: WorkflowsService) {}

  @RequireAbility('read', 'Workflow')
  @Query(() => WorkflowConnection, {
    name: kind,
    description: 'The workflows of the workspace, newest first.',
    complexity: pageCost,
  })
  async list(@Args() args: ForwardPageArgs, @Context() { member }: GraphqlContext): Promise<ConnectionOf<Workflow>> {
    const page = await this.workflows.list(member, toForwardPage(args, kind));
    return toForwardConnection(page, args, { kind, idOf: ({ id }) => id });
  }

  @RequireAbility('read', 'Workflow')
  @Query(() => WorkflowModel, { nullable: true, description: 'A workflow. Null: not found.' })
  workflow(
    @Args('id', { type: () => ID, description: 'Its server id, or the id of its document.' }) id: string,
    @Context() { member }: GraphqlContext,
  ): Promise<Workflow | null> {
    return orNull(this.workflows.get(member, id));
  }

  @RequireAbility('read', 'Workflow', { absent: workflowNotFound })
  @Query(() => WorkflowVersionConnection, {
    description: 'The published versions of a workflow, newest first.',
    complexity: pageCost,
  })
  async workflowVersions(
    @Args('workflowId', { type: () => ID, description: 'The workflow.' }) workflowId: string,
    @Args() args: ForwardPageArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<ConnectionOf<WorkflowVersion>> {
    const { limit: first, cursor } = toWantedPage(args);
    const below = cursor === undefined ? undefined : positionOfCursor(cursor, versionKind, 'after');
    const page: Page<WorkflowVersion> = await this.workflows.versions(member, workflowId, { first, below });
    return toForwardConnection(page, args, { kind: versionKind, idOf: ({ number }) => String(number) });
  }

  @RequireAbility('read', 'Workflow')
  @Query(() => WorkflowVersionModel, { nullable: true, description: 'A version. Null: not found.' })
  workflowVersion(
    @Args('workflowId', { type: () => ID, description: 'The workflow.' }) workflowId: string,
    @Args('number', { type: () => Int, description: 'Its number.' }) number: number,
    @Context() { member }: GraphqlContext,
  ): Promise<WorkflowVersion | null> {
    return orNull(this.workflows.version(member, workflowId, number));
  }

  @RequireAbility('read', 'Workflow')
  @Query(() => WorkflowValidationModel, {
    description: 'Validates a definition as a save would. Stores nothing.',
    complexity: cpuBoundCost,
  })
  validateWorkflow(
    @Args('definition', {
      type: () => Json,
      description: 'A document, or its JSON text (docs/workflow-definitions.md).',
    })
    definition: unknown,
    @Context() { member }: GraphqlContext,
  ): Promise<Validation> {
    return this.workflows.validate(member, definition);
  }

  @ResolveField(() => Json, { description: 'The draft.', complexity: definitionCost })
  async draft(@Parent() { id }: Workflow, @Context() { member }: GraphqlContext): Promise<unknown> {
    return JSON.parse(await this.workflows.draft(member, id));
  }

  @ResolveField(() => String, {
    description: 'The draft as saved, byte for byte. Use it for export.',
    complexity: definitionCost,
  })
  draftText(@Parent() { id }: Workflow, @Context() { member }: GraphqlContext): Promise<string> {
    return this.workflows.draft(member, id);
  }

  @ResolveField(() => [WorkflowIssueModel], {
    description: 'Issues of the draft: errors, then warnings.',
    complexity: definitionCost,
  })
  async issues(@Parent() { id }: Workflow, @Context() { member }: GraphqlContext): Promise<readonly WorkflowIssue[]> {
    const { errors, warnings } = await this.workflows.validate(member, await this.workflows.draft(member, id));
    return [...errors, ...warnings];
  }
}

/** Adds the fields of a version that its row summary does not contain. */
@Resolver(() => WorkflowVersionModel)
export class WorkflowVersionFieldsResolver {
  constructor(private readonly workflows: WorkflowsService) {}

  @ResolveField(() => Json, { description: 'Its content.', complexity: definitionCost })
  async definition(@Parent() version: WorkflowVersion, @Context() context: GraphqlContext): Promise<unknown> {
    return JSON.parse(await this.text(version, context));
  }

  @ResolveField(() => String, { description: 'The definition as saved, byte for byte.', complexity: definitionCost })
  async text(
    @Parent() { workflowId, number }: WorkflowVersion,
    @Context() { member }: GraphqlContext,
  ): Promise<string> {
    return (await this.workflows.version(member, workflowId, number)).text;
  }
}
