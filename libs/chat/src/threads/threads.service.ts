import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type MemberPrincipal, scopeOf } from '#auth';
import { threadNotFound } from '#jobs';
import { AppError, isId, newId, toStorableText } from '#platform';

import type { Thread } from './thread.js';
import { ThreadsRepository } from './threads.repository.js';

const longestTitle = 200;
const longestClientId = 255;

/** Creates and renames threads. Only jobs add messages. */
@Injectable()
export class ThreadsService {
  constructor(private readonly threads: ThreadsRepository) {}

  /**
   * Creates an empty thread. If the user already has a thread with this `clientId` (1 to 255 characters), returns that one, so the call may be
   * repeated. Throws `forbidden`, `bad_request`.
   */
  async create(principal: MemberPrincipal, input: { title: string; clientId: string | null }): Promise<Thread> {
    const { workspaceId, userId } = principal;
    assertCan(abilityOf(principal), { action: 'create', subject: 'Thread', row: { workspaceId, createdBy: userId } });
    const clientId = input.clientId === null ? null : toClientId(input.clientId);
    const scope = scopeOf(principal);
    const thread = { id: newId(), clientId, title: toTitle(input.title), createdBy: userId };
    const made = await this.threads.insert(scope, thread);
    if (made !== null) return made;
    const known = clientId === null ? null : await this.threads.findInScope(scope, clientId);
    if (known === null) throw clientIdTaken();
    return known;
  }

  /** Throws `not_found`, `forbidden` (the principal may only read the thread), `bad_request`. */
  async rename(principal: MemberPrincipal, ref: string, title: string): Promise<Thread> {
    const scope = scopeOf(principal);
    const thread = await this.threads.findInScope(scope, ref);
    if (thread === null) throw threadNotFound();
    const { workspaceId } = principal;
    const row = { workspaceId, createdBy: thread.createdBy };
    assertCan(abilityOf(principal), { action: 'rename', subject: 'Thread', row });
    const renamed = await this.threads.rename(scope, thread.id, toTitle(title));
    if (renamed === null) throw threadNotFound();
    return renamed;
  }
}

function toTitle(text: string): string {
  const title = toStorableText(text).trim();
  if (title.length > longestTitle) throw invalid('title', `title exceeds ${longestTitle} characters`);
  return title;
}

function toClientId(text: string): string {
  const clientId = toStorableText(text);
  if (clientId === '' || clientId.length > longestClientId) {
    throw invalid('clientId', `clientId must have 1 to ${longestClientId} characters`);
  }
  if (isId(clientId)) throw invalid('clientId', 'clientId must not be a UUID, because the ids of the server are UUIDs');
  return clientId;
}

function invalid(field: string, message: string): AppError {
  return new AppError({ code: 'bad_request', message, field });
}

function clientIdTaken(): AppError {
  return new AppError({
    code: 'conflict',
    message: 'Another thread already uses this clientId. Choose another one.',
    field: 'clientId',
  });
}
