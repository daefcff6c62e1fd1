import { createHash } from 'node:crypto';

import { Injectable } from '@nestjs/common';

import { abilityOf, asSubject, type MemberPrincipal, PrincipalsRepository } from '#auth';
import { ChatService, type StartChat } from '#chat';
import { BackgroundJobs, JobTelemetry } from '#jobs';
import { AppError } from '#platform';
import { StartWorkflowService } from '#workflows';

import { DueSchedulesRepository, type DueStart, type SlotRef } from './due-schedules.repository.js';
import type { ScheduledChat } from './schedule.js';

/** The errors that pass by themselves: the start is tried again, for an hour. */
const transient: ReadonlySet<string> = new Set(['job_limit_reached', 'start_in_flight', 'unavailable']);
const tryAgainMs = 30_000;
const giveUpMs = 3_600_000;

/** Starts the jobs of slots. One slot starts one job, even if several workers try it, or one worker tries it several times. */
@Injectable()
export class ScheduledStarts {
  constructor(
    private readonly due: DueSchedulesRepository,
    private readonly principals: PrincipalsRepository,
    private readonly starts: StartWorkflowService,
    private readonly chats: ChatService,
    private readonly telemetry: JobTelemetry,
    private readonly background: BackgroundJobs,
  ) {}

  /** Starts the job of a due slot; does nothing for any other. The principal who saved the schedule must still have the right to start it. */
  async start(slot: SlotRef): Promise<void> {
    const due = await this.due.read(slot);
    if (due === null) return;
    const principal = await this.principals.find(slot.workspaceId, due.savedBy);
    if (principal === null || !isEntitled(principal, due)) {
      await this.due.stop(slot, 'right_lost');
      return;
    }
    try {
      this.background.assertOn(); // no client follows the job
      const { jobId } = await this.startJob(slot, due.target, principal);
      await this.due.settle(slot, { jobId });
    } catch (error) {
      await this.refused(slot, { error, isLate: due.ageMs > giveUpMs });
      if (!(error instanceof AppError))
        this.telemetry.logger.warn({ err: error, ...slot }, 'a scheduled job was not started');
    }
  }

  private startJob(slot: SlotRef, { workflowId, prompt, chat }: DueStart['target'], principal: MemberPrincipal) {
    // The key depends only on the slot: it names the same job even if the schedule was changed between two attempts.
    const key = `schedule:${slot.scheduleId}:${new Date(slot.slotAt).toISOString()}`;
    const requestHash = createHash('sha256').update(key).digest('hex');
    const idempotency = { key, requestHash };
    if (chat === null)
      return this.starts.startUnattended(slot.workspaceId, { workflowRef: workflowId, prompt, idempotency });
    return this.chats.start(principal, toStartChat(chat, idempotency));
  }

  private async refused(
    slot: SlotRef,
    { error, isLate }: { readonly error: unknown; readonly isLate: boolean },
  ): Promise<void> {
    const isKnown = error instanceof AppError;
    const shown = isKnown
      ? { code: error.code, message: error.message, retryable: error.retryable }
      : { code: 'internal', message: 'The job could not be started', retryable: true };
    const isTransient = !isKnown || transient.has(error.code);
    if (isTransient && !isLate) await this.due.reschedule(slot, { error: shown, delayMs: tryAgainMs });
    else await this.due.settle(slot, { error: shown });
  }
}

/** A workflow runs as the system principal, a chat as the principal that saved the schedule. */
function isEntitled(principal: MemberPrincipal, { target }: DueStart): boolean {
  const { workspaceId, userId: createdBy } = principal;
  const ability = abilityOf(principal);
  return target.chat === null
    ? ability.can('manage', asSubject('Workflow', { workspaceId }))
    : ability.can('create', asSubject('Job', { workspaceId, createdBy }));
}

/** The request that starts the chat of a schedule. Jobs of one thread run one after the other. */
export function toStartChat(chat: ScheduledChat, idempotency: StartChat['idempotency']): StartChat {
  return {
    ...chat,
    ...{ createThread: true, messageClientId: null, history: 'thread', toolRuntimes: {}, toolChoice: null },
    ...{ whenBusy: chat.threadRef === null ? null : 'enqueue', idempotency, providerKey: null, backgroundMode: null },
  };
}
