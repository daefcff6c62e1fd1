import type { IncomingHttpHeaders } from 'node:http';

import { Injectable } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import { JobsRepository, type StartedJob } from '#jobs';
import { chargedStart, StartLimiter } from '#jobs/api';
import type { Allowance } from '#platform';

import { ChatService } from '../../chat.service.js';
import { mayCreateThread } from './may-create-thread.js';
import { toStartChat } from './to-start-chat.js';

/** A start request over HTTP. */
export interface StartCall {
  readonly body: unknown;
  readonly headers: IncomingHttpHeaders;
  readonly mustSayBackground: boolean;
}

/** Starts chat jobs for the REST endpoint: parses the request, applies the rate limit, and calls the chat service. */
@Injectable()
export class JobStart {
  constructor(
    private readonly chat: ChatService,
    private readonly jobs: JobsRepository,
    private readonly limiter: StartLimiter,
  ) {}

  /** Throws `bad_request`, `rate_limited` and the errors of `ChatService.start`. A repeated key is not charged. */
  async start(
    principal: MemberPrincipal,
    call: StartCall,
  ): Promise<{ readonly job: StartedJob; readonly allowance: Allowance }> {
    const request = toStartChat({ ...call, mayCreateThread: mayCreateThread(principal) });
    const key = request.idempotency?.key ?? null;
    const { limiter, jobs } = this;
    return chargedStart({ limiter, jobs }, { principal, key }, () => this.chat.start(principal, request));
  }
}
