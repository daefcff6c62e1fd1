import { Injectable } from '@nestjs/common';

import { abilityOf, asSubject, type Principal, scopeOf } from '#auth';
import {
  type DeciderRights,
  type Interrupt,
  type InterruptFilter,
  InterruptsRepository,
  type KeysetPage,
  listedKinds,
  requestNotFound,
} from '#jobs';
import { isId } from '#platform';

import { InterruptDeciders } from './interrupt-deciders.js';
import { invalidAnswer } from './interrupts.errors.js';
import { assertAnswerFields, toInterruptAnswer } from './to-interrupt-answer.js';

/** The requests to list. */
export interface InterruptQuery extends Omit<InterruptFilter, 'decider'> {
  /**
   * Whose inbox to list. `mine`: all requests that the caller may decide. A user: the requests of this user's own jobs that the user may decide.
   */
  readonly assignee?: 'mine' | { readonly userId: string };
}

/** Requests to people. Principals who may read the job list them; principals who may decide them settle them. */
@Injectable()
export class InterruptsService {
  constructor(
    private readonly interrupts: InterruptsRepository,
    private readonly deciders: InterruptDeciders,
  ) {}

  /** Throws `not_found` if the principal may not read the request. */
  async find(principal: Principal, id: string): Promise<Interrupt> {
    const interrupt = isId(id) ? await this.interrupts.findInScope(scopeOf(principal), id) : null;
    if (interrupt === null) throw requestNotFound();
    return interrupt;
  }

  /** Newest first. May return one row more than the limit: then a next page exists. */
  list(principal: Principal, query: InterruptQuery, page: KeysetPage): Promise<Interrupt[]> {
    return this.interrupts.listInScope(scopeOf(principal), toFilter(principal, query), page);
  }

  count(principal: Principal, query: InterruptQuery): Promise<number> {
    return this.interrupts.countInScope(scopeOf(principal), toFilter(principal, query));
  }

  /** The requests among `ids` that match the query, oldest first. */
  findMany(principal: Principal, query: InterruptQuery, ids: readonly string[]): Promise<Interrupt[]> {
    return this.interrupts.findManyInScope(scopeOf(principal), ids, toFilter(principal, query));
  }

  /**
   * Settles one request by its id, and returns it in its new state. `body` is the unparsed body of the caller. Throws `not_found`,
   * `bad_request`, `too_large`, and the errors of the decider of its kind (see `InterruptDecider`).
   */
  async decide(principal: Principal, id: string, body: unknown): Promise<Interrupt> {
    const interrupt = await this.find(principal, id);
    if (interrupt.kind === 'client_tool') throw invalidAnswer('id', CLIENT_TOOL_TEXT);
    const answer = toInterruptAnswer(body);
    assertAnswerFields(interrupt.kind, answer);
    return this.deciders.of(interrupt.kind).decide(principal, interrupt, answer);
  }
}

const CLIENT_TOOL_TEXT =
  'Only a client can settle a call of a client tool. Claim the call with POST /api/jobs/<jobId>/client-tool/claim and send its result, or continue the request at /v1/chat/completions.';

/** Without a filter by kind, the list leaves out `wait`: such a request waits for an event, not for a person. */
function toFilter(principal: Principal, { assignee, ...query }: InterruptQuery): InterruptFilter {
  const filter = { kinds: listedKinds, ...query };
  if (assignee === undefined) return filter;
  const isMe = assignee === 'mine' || assignee.userId === principal.userId;
  return { ...filter, decider: isMe ? deciderRightsOf(principal) : rightsOfOther(assignee.userId) };
}

/** The rights that every member has: the rights of other users are not loaded. */
function rightsOfOther(userId: string): DeciderRights {
  return { userId, approves: 'own', changes: 'own' };
}

/** What `mayDecide` allows a principal, as the filter of a list of requests. */
function deciderRightsOf(principal: Principal): DeciderRights {
  const { workspaceId, userId, scopes } = principal;
  if (userId === null || !scopes.includes('approve')) return { userId: null, approves: 'none', changes: 'none' };
  const ability = abilityOf(principal);
  const extent = (may: (createdBy: string | null) => boolean) => (may(null) ? 'any' : may(userId) ? 'own' : 'none');
  return {
    userId,
    approves: extent((requester) => ability.can('approve', asSubject('Interrupt', { workspaceId, requester }))),
    changes: extent((createdBy) => ability.can('change', asSubject('Job', { workspaceId, createdBy }))),
  };
}
