import { Args, Context, Mutation, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { limitedStart, StartJobPayload, StartLimiter, type StartPayload } from '#jobs/api';
import { toPayload } from '#platform/api';

import { ChatService } from '../../chat.service.js';
import { fromStartChatInput } from './from-start-chat-input.js';
import { StartChatInput } from './start-chat.input.js';

/** Starts chat jobs. */
@Resolver()
export class StartChatResolver {
  constructor(
    private readonly chat: ChatService,
    private readonly limiter: StartLimiter,
  ) {}

  @RequireAbility('create', 'Job')
  @Mutation(() => StartJobPayload, {
    description: 'Starts a chat job in the background. When this returns, the job is stored.',
  })
  startChat(
    @Args('input', { type: () => StartChatInput, description: 'The conversation and its options.' })
    input: StartChatInput,
    @Context() { member }: GraphqlContext,
  ): Promise<StartPayload> {
    return toPayload(() =>
      limitedStart(this.limiter, member, () => this.chat.start(member, fromStartChatInput(input))),
    );
  }
}
