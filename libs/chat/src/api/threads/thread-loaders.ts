import { Injectable } from '@nestjs/common';
import DataLoader from 'dataloader';

import { byId, FeatureLoaders, maxBatchSize, valueOf } from '#auth/api';
import type { Scope } from '#platform';

import { MessagesRepository, type PositionPage } from '../../threads/messages.repository.js';
import type { Message, Thread } from '../../threads/thread.js';
import { ThreadsRepository } from '../../threads/threads.repository.js';

/** A page of the messages of one thread. */
interface MessagesOfThread {
  readonly threadId: string;
  readonly page: PositionPage;
}

interface Loaders {
  readonly threads: DataLoader<string, Thread | null>;
  readonly messages: DataLoader<string, Message | null>;
  readonly messagesOf: DataLoader<MessagesOfThread, readonly Message[], string>;
  /** Loads the number of messages by the id of the thread. */
  readonly messageCount: DataLoader<string, number>;
}

/** Batches the reads of threads and messages. */
@Injectable()
export class ThreadLoaders extends FeatureLoaders<Loaders> {
  constructor(
    private readonly threads: ThreadsRepository,
    private readonly messages: MessagesRepository,
  ) {
    super();
  }

  protected make(scope: Scope): Loaders {
    return {
      threads: byId((ids) => this.threads.findManyInScope(scope, ids)),
      messages: byId((ids) => this.messages.findManyInScope(scope, ids)),
      messagesOf: new DataLoader((wanted) => this.readPages(scope, wanted), { maxBatchSize, cacheKeyFn: keyOf }),
      messageCount: valueOf((ids) => this.messages.countInThreads(scope, ids), 0),
    };
  }

  private async readPages(scope: Scope, wanted: readonly MessagesOfThread[]): Promise<(readonly Message[])[]> {
    const found = new Map<string, readonly Message[]>();
    const groups = Map.groupBy(wanted, ({ page }) => pageKeyOf(page)).values();
    await Promise.all(
      [...groups].map(async (group) => {
        const [first] = group;
        if (first === undefined) return;
        const ids = group.map(({ threadId }) => threadId);
        const byThread = await this.messages.listInThreads(scope, ids, first.page);
        for (const key of group) found.set(keyOf(key), byThread.get(key.threadId) ?? []);
      }),
    );
    return wanted.map((key) => found.get(keyOf(key)) ?? []);
  }
}

/** Threads of one list are read with the same page, so they share a statement. */
function pageKeyOf({ limit, after, reverse }: PositionPage): string {
  return `${limit} ${after ?? ''} ${String(reverse ?? false)}`;
}

function keyOf({ threadId, page }: MessagesOfThread): string {
  return `${threadId} ${pageKeyOf(page)}`;
}
