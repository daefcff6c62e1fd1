import type { Type } from '@nestjs/common';
import { Args, Context, Int, Parent, ResolveField, Resolver } from '@nestjs/graphql';

import type { GraphqlContext } from '#auth/api';
import { AppError } from '#platform';
import { DateTime, listCost } from '#platform/api';

import type { Schedule, ScheduledSlot } from '../schedule.js';
import { SchedulesService } from '../schedules.service.js';
import { ChatScheduleModel, ScheduledSlotModel, WorkflowScheduleModel } from './schedule.model.js';

const maxNextSlots = 24;
const maxSlots = 200;

/** Adds the scheduled times to a GraphQL type of schedules. */
function slotsOf(model: Type<object>): Type<object> {
  @Resolver(() => model)
  class ScheduleFieldsResolver {
    constructor(private readonly schedules: SchedulesService) {}

    @ResolveField(() => [DateTime], { description: 'Its next scheduled times. Empty while it is disabled.' })
    nextSlots(
      @Parent() schedule: Schedule,
      @Args('count', { type: () => Int, defaultValue: 5, description: 'How many: 1 to 24.' }) count: number,
    ): readonly number[] {
      return this.schedules.nextSlots(schedule, withinCount(count, maxNextSlots));
    }

    @ResolveField(() => [ScheduledSlotModel], {
      description: 'Its past scheduled times, newest first. The last 200 are kept.',
      complexity: listCost(10),
    })
    slots(
      @Parent() { id }: Schedule,
      @Args('count', { type: () => Int, defaultValue: 10, description: 'How many: 1 to 200.' }) count: number,
      @Context() { member }: GraphqlContext,
    ): Promise<readonly ScheduledSlot[]> {
      return this.schedules.slots(member, id, withinCount(count, maxSlots));
    }
  }
  return ScheduleFieldsResolver;
}

/** The computed fields of every type of schedule. */
export const scheduleFieldsResolvers: readonly Type<object>[] = [WorkflowScheduleModel, ChatScheduleModel].map(slotsOf);

/** Throws `bad_request` unless `count` is 1 to `max`. */
function withinCount(count: number, max: number): number {
  if (count < 1 || count > max)
    throw new AppError({ code: 'bad_request', message: `count must be 1 to ${max}`, field: 'count' });
  return count;
}
