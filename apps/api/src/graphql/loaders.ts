import { Injectable } from '@nestjs/common';
import DataLoader from 'dataloader';

import {
  type ChosenAgent,
  type Message,
  MessagesRepository,
  type PositionPage,
  type RoundRecord,
  RoundsRepository,
  type Thread,
  ThreadsRepository,
} from '#chat';
import { type Interrupt, InterruptsRepository, type Job, JobsRepository } from '#jobs';
import type { Scope } from '#platform';
import type { ToolCallRecord } from '#tools';

/** A page of the messages of one thread. */
export interface MessagesOfThread {
  readonly threadId: string;
  readonly page: PositionPage;
}

/** The batched reads of one operation: however many rows ask for theirs, it is one statement a kind. */
export interface Loaders {
  readonly jobs: DataLoader<string, Job | null>;
  readonly threads: DataLoader<string, Thread | null>;
  readonly messages: DataLoader<string, Message | null>;
  readonly toolCalls: DataLoader<string, ToolCallRecord | null>;
  readonly interrupts: DataLoader<string, Interrupt | null>;
  readonly messagesOfThread: DataLoader<MessagesOfThread, readonly Message[], string>;
  readonly messageCountOfThread: DataLoader<string, number>;
  /** By job id. */
  readonly subJobsOfJob: DataLoader<string, readonly Job[]>;
  readonly roundsOfJob: DataLoader<string, readonly RoundRecord[]>;
  readonly toolCallsOfJob: DataLoader<string, readonly ToolCallRecord[]>;
  readonly openTextOfJob: DataLoader<string, string>;
  readonly agentOfJob: DataLoader<string, ChosenAgent | null>;
  readonly openInterruptsOfJob: DataLoader<string, readonly Interrupt[]>;
}

const maxBatchSize = 500;

/** Makes the loaders of an operation, bound to what its principal may read. They are never shared between two operations. */
@Injectable()
export class LoadersFactory {
  constructor(
    private readonly jobs: JobsRepository,
    private readonly threads: ThreadsRepository,
    private readonly messages: MessagesRepository,
    private readonly rounds: RoundsRepository,
    private readonly interrupts: InterruptsRepository,
  ) {}

  make(scope: Scope): Loaders {
    return {
      jobs: byId((ids) => this.jobs.findManyInScope(scope, ids)),
      threads: byId((ids) => this.threads.findManyInScope(scope, ids)),
      messages: byId((ids) => this.messages.findManyInScope(scope, ids)),
      toolCalls: byId((ids) => this.rounds.findToolCallsInScope(scope, ids)),
      interrupts: byId((ids) => this.interrupts.findManyInScope(scope, ids)),
      messagesOfThread: new DataLoader((wanted) => this.messagesOf(scope, wanted), { maxBatchSize, cacheKeyFn: keyOf }),
      messageCountOfThread: new DataLoader(
        async (ids) => {
          const found = await this.messages.countInThreads(scope, ids);
          return ids.map((id) => found.get(id) ?? 0);
        },
        { maxBatchSize },
      ),
      subJobsOfJob: new DataLoader(
        async (ids) => {
          const found = Map.groupBy(await this.jobs.findBelowInScope(scope, ids), ({ parentJobId }) => parentJobId);
          return ids.map((id) => found.get(id) ?? []);
        },
        { maxBatchSize },
      ),
      roundsOfJob: byJob((ids) => this.rounds.roundsInScope(scope, ids)),
      toolCallsOfJob: byJob((ids) => this.rounds.toolCallsInScope(scope, ids)),
      openInterruptsOfJob: byJob((ids) => this.interrupts.openOfJobsInScope(scope, ids)),
      agentOfJob: new DataLoader(
        async (ids) => {
          const found = await this.rounds.agentsInScope(scope, ids);
          return ids.map((id) => found.get(id) ?? null);
        },
        { maxBatchSize },
      ),
      openTextOfJob: new DataLoader(
        async (ids) => {
          const found = await this.rounds.openTextInScope(scope, ids);
          return ids.map((id) => found.get(id) ?? '');
        },
        { maxBatchSize },
      ),
    };
  }

  private async messagesOf(scope: Scope, wanted: readonly MessagesOfThread[]): Promise<(readonly Message[])[]> {
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

/** Threads of one list are asked for the same page: they share a statement. */
function pageKeyOf({ limit, after, reverse }: PositionPage): string {
  return `${limit} ${after ?? ''} ${String(reverse ?? false)}`;
}

function keyOf({ threadId, page }: MessagesOfThread): string {
  return `${threadId} ${pageKeyOf(page)}`;
}

function byId<T extends { readonly id: string }>(load: (ids: readonly string[]) => Promise<readonly T[]>) {
  return new DataLoader<string, T | null>(
    async (ids) => {
      const found = new Map((await load(ids)).map((row) => [row.id, row]));
      return ids.map((id) => found.get(id) ?? null);
    },
    { maxBatchSize },
  );
}

function byJob<T extends { readonly jobId: string }>(load: (ids: readonly string[]) => Promise<readonly T[]>) {
  return new DataLoader<string, readonly T[]>(
    async (ids) => {
      const found = Map.groupBy(await load(ids), ({ jobId }) => jobId);
      return ids.map((id) => found.get(id) ?? []);
    },
    { maxBatchSize },
  );
}
