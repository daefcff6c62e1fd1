import { Args, Context, ID, Mutation, Query, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { threadNotFound } from '#jobs';
import { type ConnectionOf, pageCost, toPayload } from '#platform/api';

import type { Message, Thread } from '../../threads/thread.js';
import { ThreadsRepository } from '../../threads/threads.repository.js';
import { ThreadsService } from '../../threads/threads.service.js';
import { CreateThreadInput, RenameThreadInput, ThreadPayload } from './thread.input.js';
import { MessageConnection, ThreadConnection, ThreadModel } from './thread.model.js';
import { ThreadPages } from './thread-pages.js';
import { MessagesArgs, ThreadsArgs } from './threads.args.js';

/** Reads, creates and renames threads. */
@Resolver(() => ThreadModel)
export class ThreadsResolver {
  constructor(
    private readonly threads: ThreadsRepository,
    private readonly pages: ThreadPages,
    private readonly service: ThreadsService,
  ) {}

  @RequireAbility('read', 'Thread')
  @Query(() => ThreadModel, { nullable: true, description: 'A thread. Null: not found.' })
  thread(
    @Args('id', { type: () => ID, description: "The server id of the thread, or the client's own id." }) id: string,
    @Context() { scope }: GraphqlContext,
  ): Promise<Thread | null> {
    return this.threads.findInScope(scope, id);
  }

  @RequireAbility('read', 'Thread')
  @Query(() => ThreadConnection, {
    name: 'threads',
    description: 'Threads that the caller may see, newest first.',
    complexity: pageCost,
  })
  list(@Args() args: ThreadsArgs, @Context() { scope }: GraphqlContext): Promise<ConnectionOf<Thread>> {
    return this.pages.threadsOf(scope, args.filter?.createdBy ?? null, args);
  }

  @RequireAbility('read', 'Message')
  @Query(() => MessageConnection, {
    nullable: true,
    description: 'The messages of a thread, oldest first. Null: not found.',
    complexity: pageCost,
  })
  async messages(
    @Args() args: MessagesArgs,
    @Context() context: GraphqlContext,
  ): Promise<ConnectionOf<Message> | null> {
    const thread = await this.threads.findInScope(context.scope, args.threadId);
    return thread === null ? null : this.pages.messagesOf(context, thread.id, args);
  }

  @RequireAbility('create', 'Thread')
  @Mutation(() => ThreadPayload, { description: 'Creates an empty thread. `startChat` creates one if needed.' })
  createThread(
    @Args('input', { type: () => CreateThreadInput, description: 'The thread.' })
    { title, clientId }: CreateThreadInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({
      thread: await this.service.create(member, { title: title ?? '', clientId: clientId ?? null }),
    }));
  }

  @RequireAbility('rename', 'Thread', { absent: threadNotFound })
  @Mutation(() => ThreadPayload, { description: 'Renames a thread.' })
  renameThread(
    @Args('input', { type: () => RenameThreadInput, description: 'The thread and its new name.' })
    input: RenameThreadInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ thread: await this.service.rename(member, input.threadId, input.title) }));
  }
}
