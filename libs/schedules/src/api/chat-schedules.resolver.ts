import { Args, Context, ID, Mutation, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { fromStartChatInput } from '#chat/api';
import { defined } from '#platform';
import {
  type ConnectionOf,
  ForwardPageArgs,
  orNull,
  pageCost,
  toForwardConnection,
  toForwardPage,
  toPayload,
} from '#platform/api';

import type { Schedule, ScheduledChat } from '../schedule.js';
import { scheduleNotFound } from '../schedules.errors.js';
import { SchedulesService } from '../schedules.service.js';
import { RemoveChatScheduleInput, SaveChatScheduleInput, SetChatScheduleEnabledInput } from './schedule.input.js';
import { ChatScheduleConnection, ChatScheduleModel, ChatSchedulePayload, ScheduledAgent } from './schedule.model.js';

const kind = 'chatSchedules';

/** Reads and changes the schedules of chats. */
@Resolver(() => ChatScheduleModel)
export class ChatSchedulesResolver {
  constructor(private readonly schedules: SchedulesService) {}

  @RequireAbility('read', 'Schedule')
  @Query(() => ChatScheduleConnection, {
    name: kind,
    description: 'The schedules of chats in the workspace, newest first.',
    complexity: pageCost,
  })
  async list(@Args() args: ForwardPageArgs, @Context() { member }: GraphqlContext): Promise<ConnectionOf<Schedule>> {
    const page = await this.schedules.list(member, { kind: 'chat' }, toForwardPage(args, kind));
    return toForwardConnection(page, args, { kind, idOf: ({ id }) => id });
  }

  @RequireAbility('read', 'Schedule')
  @Query(() => ChatScheduleModel, { nullable: true, description: 'A schedule of a chat. Null: not found.' })
  chatSchedule(
    @Args('id', { type: () => ID, description: 'Its id.' }) id: string,
    @Context() { member }: GraphqlContext,
  ): Promise<Schedule | null> {
    return orNull(this.schedules.get(member, id, 'chat'));
  }

  @ResolveField('messages')
  messages(@Parent() { chat }: Schedule): ScheduledChat['messages'] {
    return chat?.messages ?? [];
  }

  @ResolveField('agent')
  agent(@Parent() { chat }: Schedule): ScheduledAgent | null {
    const agent = chat?.agent;
    if (agent === undefined) return null;
    return agent.type === 'auto' ? { id: null, auto: true } : { id: agent.ref, auto: null };
  }

  @ResolveField('model')
  model(@Parent() { chat }: Schedule): string | null {
    return chat?.model ?? null;
  }

  @ResolveField('tools')
  tools(@Parent() { chat }: Schedule): readonly string[] {
    return (chat?.tools ?? []).filter((tool) => typeof tool === 'string');
  }

  @ResolveField('threadId')
  threadId(@Parent() { chat }: Schedule): string | null {
    return chat?.threadRef ?? null;
  }

  @RequireAbility('change', 'Schedule', { absent: scheduleNotFound })
  @Mutation(() => ChatSchedulePayload, {
    description:
      'Creates a schedule of a chat, or replaces the one with this `id` or `name`. Members can change their own schedules; owners and admins can change all.',
  })
  saveChatSchedule(
    @Args('input', { type: () => SaveChatScheduleInput, description: 'The schedule.' })
    { id = null, name, cron, timeZone, missed, enabled, ...chat }: SaveChatScheduleInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => {
      const terms = { id, name, cron, timeZone, missed, enabled };
      return { schedule: await this.schedules.saveChat(member, { ...terms, chat: toScheduledChat(chat) }) };
    });
  }

  @RequireAbility('change', 'Schedule', { absent: scheduleNotFound })
  @Mutation(() => ChatSchedulePayload, {
    description:
      'Enables or disables a schedule of a chat, starting with its next scheduled time. Members can change their own schedules; owners and admins can change all.',
  })
  setChatScheduleEnabled(
    @Args('input', { type: () => SetChatScheduleEnabledInput, description: 'The schedule.' })
    { id, enabled }: SetChatScheduleEnabledInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({
      schedule: await this.schedules.setEnabled(member, id, { enabled, kind: 'chat' }),
    }));
  }

  @RequireAbility('change', 'Schedule', { absent: scheduleNotFound })
  @Mutation(() => ChatSchedulePayload, {
    description: 'Removes a schedule of a chat; its jobs continue. Members remove their own, owners and admins all.',
  })
  removeChatSchedule(
    @Args('input', { type: () => RemoveChatScheduleInput, description: 'The schedule.' })
    { id }: RemoveChatScheduleInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ schedule: await this.schedules.remove(member, id, 'chat') }));
  }
}

/** Throws `bad_request` with the invalid field. */
function toScheduledChat(given: Parameters<typeof fromStartChatInput>[0]): ScheduledChat {
  const { threadRef, agent, model, messages, tools, parameters } = fromStartChatInput(given);
  return { threadRef, model, messages, tools, parameters, ...defined({ agent }) };
}
