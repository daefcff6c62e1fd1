import type { IncomingHttpHeaders } from 'node:http';

import { Injectable } from '@nestjs/common';

import { abilityOf, asSubject, type MemberPrincipal, scopeOf } from '#auth';
import { ChatService, type StartChat } from '#chat';
import { JobsRepository, type StartedJob } from '#jobs';
import { AppError } from '#platform';

import { type Allowance, StartLimiter } from '../limits/start-limiter.js';
import { toStartChat } from './to-start-chat.js';

/** A start as it comes in over HTTP. */
export interface StartCall {
  readonly body: unknown;
  readonly headers: IncomingHttpHeaders;
  readonly mustSayBackground: boolean;
}

/** Starts chat jobs for the REST door: reads the request, minds the rate, and leaves the rest to the chat. */
@Injectable()
export class JobStart {
  constructor(
    private readonly chat: ChatService,
    private readonly jobs: JobsRepository,
    private readonly limiter: StartLimiter,
  ) {}

  /** Throws `bad_request`, `rate_limited` and what `ChatService.start` throws. Repetitions of a key are not charged. */
  async start(
    principal: MemberPrincipal,
    call: StartCall,
  ): Promise<{ readonly job: StartedJob; readonly allowance: Allowance }> {
    const request = toStartChat({ ...call, mayCreateThread: mayCreateThread(principal) });
    const allowance = await this.charge(principal, request);
    const job = await this.chat.start(principal, request);
    if (job.replayed && allowance.retryAfterSeconds === 0)
      return { job, allowance: this.limiter.giveBack(principal.id) };
    return { job, allowance };
  }

  private async charge(principal: MemberPrincipal, { idempotency }: StartChat): Promise<Allowance> {
    try {
      return this.limiter.take(principal.id);
    } catch (error) {
      if (!(error instanceof AppError) || idempotency === null) throw error;
      const known = await this.jobs.findAdmission(scopeOf(principal), idempotency.key);
      if (known?.jobId == null) throw error;
      return this.limiter.peek(principal.id);
    }
  }
}

function mayCreateThread(principal: MemberPrincipal): boolean {
  const { workspaceId, userId } = principal;
  return abilityOf(principal).can('create', asSubject('Thread', { workspaceId, createdBy: userId }));
}
