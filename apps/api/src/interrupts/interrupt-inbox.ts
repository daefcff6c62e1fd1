import { Injectable } from '@nestjs/common';

import { type InterruptQuery, InterruptsService } from '#approvals';
import { type Principal, scopeOf } from '#auth';
import { ThreadsRepository } from '#chat';
import type { Interrupt, KeysetPage } from '#jobs';
import { idOfCursor, missing, toCursor, toIdOrNone } from '#platform/api';

import type { InterruptListQuery } from './interrupt-list-query.js';
import { type InterruptReply, toInterruptReply } from './to-interrupt-reply.js';

/** A page of requests, newest first. `nextCursor` goes into `?after`; null: this is the last page. */
export interface InterruptPage {
  readonly interrupts: readonly InterruptReply[];
  readonly nextCursor: string | null;
}

/** Interrupts as the REST endpoint returns them, with the clients' own thread names. */
@Injectable()
export class InterruptInbox {
  constructor(
    private readonly interrupts: InterruptsService,
    private readonly threads: ThreadsRepository,
  ) {}

  /** Throws `bad_request`, `invalid_cursor`. */
  async list(principal: Principal, query: InterruptListQuery): Promise<InterruptPage> {
    const page = toPage(query);
    const found = await this.interrupts.list(principal, await this.toQuery(principal, query), page);
    const shown = found.slice(0, page.limit);
    const last = found.length > page.limit ? shown.at(-1) : undefined;
    const names = await this.threadNames(principal, shown);
    return {
      interrupts: shown.map((interrupt) => toInterruptReply(interrupt, names)),
      nextCursor: last === undefined ? null : toCursor('interrupts', last.id),
    };
  }

  /** Throws `not_found`. */
  async find(principal: Principal, id: string): Promise<InterruptReply> {
    return this.reply(principal, await this.interrupts.find(principal, id));
  }

  /** Throws what `InterruptsService.decide` throws, and `bad_request` when the body names no request. */
  async decide(principal: Principal, id: string, body: unknown): Promise<InterruptReply> {
    if (id.trim() === '') throw missing('request ID');
    return this.reply(principal, await this.interrupts.decide(principal, id, body));
  }

  private async toQuery(principal: Principal, query: InterruptListQuery): Promise<InterruptQuery> {
    const { status, kind, jobId, rootJobId, threadId } = query;
    return {
      ...(status === undefined ? {} : { statuses: [status] }),
      ...(kind === undefined ? {} : { kinds: [kind] }),
      ...(jobId === undefined ? {} : { jobId: toIdOrNone(jobId) }),
      ...(rootJobId === undefined ? {} : { rootJobId: toIdOrNone(rootJobId) }),
      ...(threadId === undefined ? {} : { threadId: await this.ourIdOf(principal, threadId) }),
    };
  }

  private async ourIdOf(principal: Principal, threadId: string): Promise<string> {
    const thread = await this.threads.findInScope(scopeOf(principal), threadId);
    return toIdOrNone(thread?.id ?? '');
  }

  private async reply(principal: Principal, interrupt: Interrupt): Promise<InterruptReply> {
    return toInterruptReply(interrupt, await this.threadNames(principal, [interrupt]));
  }

  private async threadNames(principal: Principal, of: readonly Interrupt[]): Promise<ReadonlyMap<string, string>> {
    const ids = new Set(of.flatMap(({ threadId }) => threadId ?? []));
    const threads = ids.size === 0 ? [] : await this.threads.findManyInScope(scopeOf(principal), [...ids]);
    return new Map(threads.map(({ id, clientId }) => [id, clientId ?? id]));
  }
}

function toPage({ limit, after }: InterruptListQuery): KeysetPage {
  return { limit, ...(after === undefined ? {} : { after: idOfCursor(after, 'interrupts', 'after') }) };
}
