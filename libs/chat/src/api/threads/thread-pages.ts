import { Injectable } from '@nestjs/common';

import type { GraphqlContext } from '#auth/api';
import { isId, type Scope } from '#platform';
import {
  type ConnectionOf,
  idOfCursor,
  type PageArgs,
  positionOfCursor,
  toConnection,
  toCursor,
  toWantedPage,
} from '#platform/api';

import type { Message, Thread } from '../../threads/thread.js';
import { ThreadsRepository } from '../../threads/threads.repository.js';
import { ThreadLoaders } from './thread-loaders.js';

/** Pages of threads and of their messages. */
@Injectable()
export class ThreadPages {
  constructor(
    private readonly threads: ThreadsRepository,
    private readonly loaders: ThreadLoaders,
  ) {}

  /** Newest first. Throws `bad_request`, `invalid_cursor`. */
  async threadsOf(scope: Scope, createdBy: string | null, args: PageArgs): Promise<ConnectionOf<Thread>> {
    const page = toWantedPage(args);
    const after = page.cursor === undefined ? {} : { after: idOfCursor(page.cursor, 'threads', page.field) };
    if (createdBy !== null && !isId(createdBy))
      return toConnection<Thread>([], { page, count: () => Promise.resolve(0), cursorOf: () => '' });
    const filter = createdBy === null ? {} : { createdBy };
    const rows = await this.threads.listInScope(scope, filter, { limit: page.limit, reverse: page.reverse, ...after });
    const count = () => this.threads.countInScope(scope, filter);
    return toConnection(rows, { page, count, cursorOf: ({ id }) => toCursor('threads', id) });
  }

  /** Oldest first; many threads of one operation share their statements. Throws `bad_request`, `invalid_cursor`. */
  async messagesOf(context: GraphqlContext, threadId: string, args: PageArgs): Promise<ConnectionOf<Message>> {
    const page = toWantedPage(args);
    const after = page.cursor === undefined ? {} : { after: positionOfCursor(page.cursor, 'messages', page.field) };
    const wanted = { limit: page.limit, reverse: page.reverse, ...after };
    const loaders = this.loaders.of(context);
    const rows = await loaders.messagesOf.load({ threadId, page: wanted });
    const count = () => loaders.messageCount.load(threadId);
    return toConnection(rows, { page, count, cursorOf: ({ position }) => toCursor('messages', position) });
  }
}
