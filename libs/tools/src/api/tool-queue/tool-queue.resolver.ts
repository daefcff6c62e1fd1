import { Args, Context, Mutation, Query, Resolver } from '@nestjs/graphql';

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

import { DeadToolCallsService } from '../../remote/dead-tool-calls.service.js';
import { queuedCallNotFound } from '../../remote/tool-queue.errors.js';
import { ToolQueueCancels } from '../../remote/tool-queue-cancels.js';
import {
  CancelToolCallInput,
  CancelToolCallPayload,
  DeadToolCallConnection,
  DeadToolCallModel,
  RedriveToolCallInput,
  RedriveToolCallPayload,
} from './dead-tool-call.model.js';
import { type DeadToolCallReply, toDeadToolCall } from './to-dead-tool-call.js';
import { deadLetters } from './to-letter-page.js';

/** Reads and redrives dead letters of the tool queue, and cancels its calls. */
@Resolver(() => DeadToolCallModel)
export class ToolQueueResolver {
  constructor(
    private readonly letters: DeadToolCallsService,
    private readonly cancels: ToolQueueCancels,
  ) {}

  @RequireAbility('change', 'Workspace')
  @Query(() => DeadToolCallConnection, {
    nullable: true,
    description: 'Dead letters of the tool queue, newest first. Null unless the caller is an admin.',
    complexity: pageCost,
  })
  async deadToolCalls(
    @Args() args: ForwardPageArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<ConnectionOf<DeadToolCallReply> | null> {
    const page = await orNull(this.letters.list(member, toForwardPage(args, deadLetters)));
    if (page === null) return null;
    const shown = { ...page, items: page.items.map((letter) => ({ ...toDeadToolCall(letter), place: letter.place })) };
    return toForwardConnection(shown, args, { kind: deadLetters, idOf: ({ place }) => place });
  }

  @RequireAbility('change', 'Workspace')
  @Mutation(() => RedriveToolCallPayload, {
    description: 'Sends the call of a dead letter again if it is still open. A settled call is never run again.',
  })
  redriveToolCall(
    @Args('input', { type: () => RedriveToolCallInput, description: 'The dead letter.' }) { id }: RedriveToolCallInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ deadToolCall: toDeadToolCall(await this.letters.redrive(member, id)) }));
  }

  @RequireAbility('cancel', 'Job', { absent: queuedCallNotFound })
  @Mutation(() => CancelToolCallPayload, {
    description: 'Cancels one isolated tool call; its job continues. Requires the right to cancel the job. Idempotent.',
  })
  cancelToolCall(
    @Args('input', { type: () => CancelToolCallInput, description: 'The call.' }) { id }: CancelToolCallInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ state: await this.cancels.cancelFor(member, id) }));
  }
}
