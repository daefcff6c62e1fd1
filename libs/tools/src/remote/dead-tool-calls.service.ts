import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type Principal } from '#auth';
import { JobUpdater, type LockedJob } from '#jobs';
import { isId, type Page, type PageRequest } from '#platform';

import { DeadLetters, type DeadReason, type StoredLetter } from './dead-letters.js';
import { QueueSettler } from './queue-settler.js';
import { type QueueState, QueueStateRepository } from './queue-state.repository.js';
import { type LetterCall, QueuedCallsRepository } from './queued-calls.repository.js';
import { letterNotFound, notRedrivable } from './tool-queue.errors.js';
import { ToolQueue } from './tool-queue.js';

/** A dead letter for admins of the workspace, with its call. */
export interface DeadToolCall {
  readonly id: string;
  /** The position of the call in the list: the next page starts after it. */
  readonly place: string;
  readonly reason: DeadReason;
  /** Ms since the epoch. */
  readonly at: number;
  /** The affected call; null: unknown. */
  readonly call: LetterCall | null;
}

/** Lists dead letters of the tool queue, and sends their calls again if that is safe. */
@Injectable()
export class DeadToolCallsService {
  constructor(
    private readonly letters: DeadLetters,
    private readonly calls: QueuedCallsRepository,
    private readonly updater: JobUpdater,
    private readonly states: QueueStateRepository,
    private readonly settler: QueueSettler,
    private readonly queue: ToolQueue,
  ) {}

  /** Newest first. Throws `not_found` or `forbidden` to principals that are not admins of the workspace. */
  async list(principal: Principal, page: PageRequest): Promise<Page<DeadToolCall>> {
    assertMayRun(principal);
    const { workspaceId } = principal;
    const found = await this.letters.list(workspaceId, page);
    const items = await this.withCalls(workspaceId, found.slice(0, page.first));
    return { items, hasMore: found.length > page.first };
  }

  /**
   * Sends the call of a dead letter again at once, and removes the letter. The rules of the queue apply: a settled call never runs again, and
   * neither does a `once` call that a process has claimed. Throws `not_found`, `forbidden`, `not_redrivable`.
   */
  async redrive(principal: Principal, id: string): Promise<DeadToolCall> {
    assertMayRun(principal);
    const { workspaceId } = principal;
    const stored = isId(id) ? await this.letters.find(workspaceId, id) : null;
    if (stored === null) throw letterNotFound();
    const { jobId, toolCallId: callId } = stored;
    if (jobId === null || callId === null) throw notRedrivable('it names no call');
    const sent = await this.updater.update(workspaceId, jobId, (locked) =>
      this.sendAgain(locked, callId, principal.id),
    );
    if (sent === null) throw notRedrivable('its job is gone');
    this.queue.hint(workspaceId);
    const [letter] = await this.withCalls(workspaceId, [stored]);
    await this.letters.remove(id);
    if (letter === undefined) throw letterNotFound();
    return letter;
  }

  private async sendAgain(locked: LockedJob, callId: string, by: string): Promise<true> {
    const call = await this.settler.find(locked, callId);
    if (call === null) throw notRedrivable('its call is gone');
    const state = await this.states.find(locked, callId);
    if (state === null) throw notRedrivable(`its call has ended as ${call.status}`);
    const obstacle = obstacleOf(state, call.effect === 'once') ?? (locked.isOpen ? null : 'its job is being stopped');
    if (obstacle !== null) throw notRedrivable(obstacle);
    if (state.isTaken) await this.states.retry(locked, callId, 0);
    else await this.states.sendAgain(locked, callId);
    await this.states.recordRedrive(locked, callId, by);
    return true;
  }

  private async withCalls(workspaceId: string, stored: readonly StoredLetter[]): Promise<DeadToolCall[]> {
    const ids = stored.flatMap(({ toolCallId }) => toolCallId ?? []);
    const calls = ids.length === 0 ? new Map<string, LetterCall>() : await this.calls.calls(workspaceId, ids);
    return stored.map(({ id, place, reason, at, toolCallId }) => ({
      ...{ id, place, reason, at },
      call: toolCallId === null ? null : (calls.get(toolCallId) ?? null),
    }));
  }
}

function obstacleOf(state: QueueState, isOnce: boolean): string | null {
  if (state.cancelRequested) return 'its call is being stopped';
  if (state.isTaken && !state.isLost) return 'its call runs';
  if (state.isTaken && isOnce) return 'its call was started and may run once only';
  return null;
}

/** Admins of the workspace manage the queue. */
function assertMayRun(principal: Principal): void {
  const { workspaceId: id } = principal;
  assertCan(abilityOf(principal), { action: 'change', subject: 'Workspace', row: { id } });
}
