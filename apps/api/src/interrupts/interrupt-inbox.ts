import { Injectable } from '@nestjs/common';

import { type Principal, scopeOf } from '#auth';
import { ThreadsRepository } from '#chat';
import { type Interrupt, interruptKinds, interruptStatuses, type KeysetPage } from '#jobs';
import { type InterruptQuery, InterruptsService } from '#tools';

import { invalidParameter, missing } from '../errors/http.errors.js';
import { idOfCursor, toCursor } from '../graphql/connections/cursor.js';
import { toIdOrNone } from '../graphql/filters/narrow.js';
import { type InterruptReply, toInterruptReply } from './to-interrupt-reply.js';

/** A page of requests, newest first. `nextCursor` goes into `?after`; null: that was all. */
export interface InterruptPage {
  readonly interrupts: readonly InterruptReply[];
  readonly nextCursor: string | null;
}

type Query = Readonly<Record<string, unknown>>;

const defaultLimit = 20;
const mostAtOnce = 100;

/** Requests for the REST door: there threads go by the names that clients gave them. */
@Injectable()
export class InterruptInbox {
  constructor(
    private readonly interrupts: InterruptsService,
    private readonly threads: ThreadsRepository,
  ) {}

  /** Throws `bad_request`, `invalid_cursor`. */
  async list(principal: Principal, query: Query): Promise<InterruptPage> {
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

  /** Throws what `InterruptsService.decide` does, and `bad_request` when nobody says which request. */
  async decide(principal: Principal, id: string | undefined, body: unknown): Promise<InterruptReply> {
    if (id === undefined || id.trim() === '') throw missing('request ID');
    return this.reply(principal, await this.interrupts.decide(principal, id, body));
  }

  private async toQuery(principal: Principal, query: Query): Promise<InterruptQuery> {
    const status = oneOf(query, 'status', interruptStatuses);
    const kind = oneOf(query, 'kind', interruptKinds);
    const jobId = text(query, 'jobId');
    const rootJobId = text(query, 'rootJobId');
    const threadId = text(query, 'threadId');
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

function toPage(query: Query): KeysetPage {
  const limit = text(query, 'limit') ?? String(defaultLimit);
  if (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > mostAtOnce) throw invalidParameter('limit');
  const after = text(query, 'after');
  return { limit: Number(limit), ...(after === undefined ? {} : { after: idOfCursor(after, 'interrupts', 'after') }) };
}

function oneOf<T extends string>(query: Query, name: string, words: readonly T[]): T | undefined {
  const given = text(query, name);
  if (given === undefined) return undefined;
  return words.find((word) => word === given) ?? refuse(name);
}

/** A parameter that is there once, or not at all. */
function text(query: Query, name: string): string | undefined {
  const given = query[name];
  if (given === undefined || given === '') return undefined;
  return typeof given === 'string' ? given : refuse(name);
}

function refuse(name: string): never {
  throw invalidParameter(name);
}
