import { Args, Context, ID, Mutation, Query, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import {
  type ConnectionOf,
  ForwardPageArgs,
  orNull,
  pageCost,
  toForwardConnection,
  toForwardPage,
  toPayload,
} from '#platform/api';

import type { Schedule } from '../schedule.js';
import { scheduleNotFound } from '../schedules.errors.js';
import { SchedulesService } from '../schedules.service.js';
import {
  RemoveWorkflowScheduleInput,
  SaveWorkflowScheduleInput,
  SetWorkflowScheduleEnabledInput,
} from './schedule.input.js';
import { WorkflowScheduleConnection, WorkflowScheduleModel, WorkflowSchedulePayload } from './schedule.model.js';

const kind = 'workflowSchedules';

/** Reads and changes the schedules of workflows. */
@Resolver(() => WorkflowScheduleModel)
export class WorkflowSchedulesResolver {
  constructor(private readonly schedules: SchedulesService) {}

  @RequireAbility('read', 'Workflow')
  @Query(() => WorkflowScheduleConnection, {
    name: kind,
    description: 'The schedules of the workspace, newest first.',
    complexity: pageCost,
  })
  async list(
    @Args('workflowId', { type: () => ID, nullable: true, description: 'Those of one workflow only.' })
    workflowId: string | null,
    @Args() args: ForwardPageArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<ConnectionOf<Schedule>> {
    const page = await this.schedules.list(
      member,
      { kind: 'workflow', workflowRef: workflowId },
      toForwardPage(args, kind),
    );
    return toForwardConnection(page, args, { kind, idOf: ({ id }) => id });
  }

  @RequireAbility('read', 'Workflow')
  @Query(() => WorkflowScheduleModel, { nullable: true, description: 'A schedule. Null: not found.' })
  workflowSchedule(
    @Args('id', { type: () => ID, description: 'Its id.' }) id: string,
    @Context() { member }: GraphqlContext,
  ): Promise<Schedule | null> {
    return orNull(this.schedules.get(member, id));
  }

  @RequireAbility('manage', 'Workflow', { absent: scheduleNotFound })
  @Mutation(() => WorkflowSchedulePayload, {
    description:
      'Creates a schedule, or replaces the one with this `id` or `name`. Requires the right to manage workflows.',
  })
  saveWorkflowSchedule(
    @Args('input', { type: () => SaveWorkflowScheduleInput, description: 'The schedule.' })
    { id = null, workflowId: workflowRef, ...terms }: SaveWorkflowScheduleInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ schedule: await this.schedules.save(member, { id, workflowRef, ...terms }) }));
  }

  @RequireAbility('manage', 'Workflow', { absent: scheduleNotFound })
  @Mutation(() => WorkflowSchedulePayload, {
    description:
      'Enables or disables a schedule, starting with its next scheduled time. Requires the right to manage workflows.',
  })
  setWorkflowScheduleEnabled(
    @Args('input', { type: () => SetWorkflowScheduleEnabledInput, description: 'The schedule.' })
    { id, enabled }: SetWorkflowScheduleEnabledInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ schedule: await this.schedules.setEnabled(member, id, { enabled }) }));
  }

  @RequireAbility('manage', 'Workflow', { absent: scheduleNotFound })
  @Mutation(() => WorkflowSchedulePayload, {
    description: 'Removes a schedule; its jobs continue. Requires the right to manage workflows.',
  })
  removeWorkflowSchedule(
    @Args('input', { type: () => RemoveWorkflowScheduleInput, description: 'The schedule.' })
    { id }: RemoveWorkflowScheduleInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ schedule: await this.schedules.remove(member, id) }));
  }
}
