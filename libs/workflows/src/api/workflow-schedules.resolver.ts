import { Args, Context, ID, Int, Mutation, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { AppError } from '#platform';
import {
  type ConnectionOf,
  DateTime,
  ForwardPageArgs,
  listCost,
  orNull,
  pageCost,
  toForwardConnection,
  toForwardPage,
  toPayload,
} from '#platform/api';

import type { ScheduledSlot, WorkflowSchedule } from '../schedules/schedule.js';
import { SchedulesService } from '../schedules/schedules.service.js';
import {
  RemoveWorkflowScheduleInput,
  SaveWorkflowScheduleInput,
  SetWorkflowScheduleEnabledInput,
} from './workflow-schedule.input.js';
import {
  ScheduledSlotModel,
  WorkflowScheduleConnection,
  WorkflowScheduleModel,
  WorkflowSchedulePayload,
} from './workflow-schedule.model.js';

const kind = 'workflowSchedules';
const mostNextSlots = 24;
const mostSlots = 200;

/** Shows and changes when workflows run by themselves. */
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
  ): Promise<ConnectionOf<WorkflowSchedule>> {
    const page = await this.schedules.list(member, workflowId ?? null, toForwardPage(args, kind));
    return toForwardConnection(page, args, { kind, idOf: ({ id }) => id });
  }

  @RequireAbility('read', 'Workflow')
  @Query(() => WorkflowScheduleModel, { nullable: true, description: 'A schedule. Null: not found.' })
  workflowSchedule(
    @Args('id', { type: () => ID, description: 'Its id.' }) id: string,
    @Context() { member }: GraphqlContext,
  ): Promise<WorkflowSchedule | null> {
    return orNull(this.schedules.get(member, id));
  }

  @ResolveField(() => [DateTime], { description: 'Its next slots. Empty while it is disabled.' })
  nextSlots(
    @Parent() schedule: WorkflowSchedule,
    @Args('count', { type: () => Int, defaultValue: 5, description: 'How many: 1 to 24.' }) count: number,
  ): readonly number[] {
    return this.schedules.nextSlots(schedule, within(count, mostNextSlots));
  }

  @ResolveField(() => [ScheduledSlotModel], {
    description: 'Its past slots, newest first. The last 200 are kept.',
    complexity: listCost(10),
  })
  slots(
    @Parent() { id }: WorkflowSchedule,
    @Args('count', { type: () => Int, defaultValue: 10, description: 'How many: 1 to 200.' }) count: number,
    @Context() { member }: GraphqlContext,
  ): Promise<readonly ScheduledSlot[]> {
    return this.schedules.slots(member, id, within(count, mostSlots));
  }

  @RequireAbility('manage', 'Workflow')
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

  @RequireAbility('manage', 'Workflow')
  @Mutation(() => WorkflowSchedulePayload, {
    description: 'Enables or disables a schedule, starting with its next slot. Requires the right to manage workflows.',
  })
  setWorkflowScheduleEnabled(
    @Args('input', { type: () => SetWorkflowScheduleEnabledInput, description: 'The notification.' })
    { id, enabled }: SetWorkflowScheduleEnabledInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ schedule: await this.schedules.setEnabled(member, id, enabled) }));
  }

  @RequireAbility('manage', 'Workflow')
  @Mutation(() => WorkflowSchedulePayload, {
    description: 'Removes a schedule; its jobs continue. Requires the right to manage workflows.',
  })
  removeWorkflowSchedule(
    @Args('input', { type: () => RemoveWorkflowScheduleInput, description: 'The notification.' })
    { id }: RemoveWorkflowScheduleInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ schedule: await this.schedules.remove(member, id) }));
  }
}

function within(count: number, most: number): number {
  if (count < 1 || count > most)
    throw new AppError({ code: 'bad_request', message: `count must be 1 to ${most}`, field: 'count' });
  return count;
}
