import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type Principal } from '#auth';
import { isId } from '#platform';

import { DeadToolCallsRepository } from './dead-tool-calls.repository.js';
import { queuedCallNotFound } from './tool-queue.errors.js';
import { type CancelState, ToolQueueCancels } from './tool-queue-cancels.js';

/** Single calls of the isolated queue, for those who may stop their jobs. */
@Injectable()
export class QueuedCallsService {
  constructor(
    private readonly calls: DeadToolCallsRepository,
    private readonly cancels: ToolQueueCancels,
  ) {}

  /** Cancels one call; its job continues. May be repeated. Throws `not_found`, `forbidden`. */
  async cancel(principal: Principal, toolCallId: string): Promise<Exclude<CancelState, 'not_found'>> {
    const { workspaceId, id: issuedBy } = principal;
    const owner = isId(toolCallId) ? await this.calls.jobOf(workspaceId, toolCallId) : null;
    if (owner === null) throw queuedCallNotFound();
    const { jobId, createdBy } = owner;
    assertCan(abilityOf(principal), { action: 'cancel', subject: 'Job', row: { workspaceId, createdBy } });
    const state = await this.cancels.cancel({ workspaceId, jobId, toolCallId, issuedBy });
    if (state === 'not_found') throw queuedCallNotFound();
    return state;
  }
}
