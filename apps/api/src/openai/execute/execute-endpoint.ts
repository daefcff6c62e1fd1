import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';

import type { MemberPrincipal } from '#auth';
import { ViewerAccess } from '#auth/api';
import { Config } from '#platform';
import { OpenStreams } from '#platform/api';

import { acquireStreamSlot } from '../acquire-stream-slot.js';
import { noRetryAfterOnce } from '../no-retry-after-once.js';
import { invalidKey } from '../openai-principal.guard.js';
import type { ExecutedCall } from '../openai-schemas.js';
import { parseCompletionHeaders } from '../request/completion-headers.js';
import { bodyOf } from '../request/invalid-body.js';
import { parseExecuteRequest } from './execute-request.js';
import { ExecutionResult } from './execution-result.js';
import type { AwaitedCall } from './response-deadlines.js';
import { ToolExecution } from './tool-execution.js';

/** The client of a call. */
interface Caller {
  readonly response: Response;
  readonly closing: AbortController;
  /** Whether to cancel the job when the client disconnects. */
  readonly cancels: boolean;
}

/** Serves one request to `/v1/tools/execute`. The request has a slot until its response is sent. */
@Injectable()
export class ExecuteEndpoint {
  constructor(
    private readonly execution: ToolExecution,
    private readonly results: ExecutionResult,
    private readonly open: OpenStreams,
    private readonly access: ViewerAccess,
    private readonly config: Config,
  ) {}

  /** Throws the error to send instead of a result; with `X-Job-Id` set, the job keeps running. */
  async answer(principal: MemberPrincipal, request: Request, response: Response): Promise<ExecutedCall> {
    const { idempotencyKey, onDisconnect } = parseCompletionHeaders(request.headers);
    const asked = parseExecuteRequest(bodyOf(request));
    const closing = new AbortController();
    const max = this.config.values.OPENAI_ANSWERS_PER_PRINCIPAL;
    const slot = acquireStreamSlot(this.open, principal, { closing, max });
    try {
      const { jobId } = await this.execution.start(principal, asked, idempotencyKey);
      response.setHeader('X-Job-Id', jobId);
      const { workspaceId } = principal;
      const awaited = { workspaceId, jobId, toolName: asked.toolName, known: knownRequests(request) };
      const caller = { response, closing, cancels: onDisconnect === 'cancel' };
      const hasRunOnce = () => this.execution.hasRunOnce(awaited);
      return await noRetryAfterOnce(response, hasRunOnce, () => this.waitForResult(principal, awaited, caller));
    } finally {
      slot.leave();
    }
  }

  /** Waits for the result. Throws if the key is no longer valid by then. */
  private async waitForResult(
    principal: MemberPrincipal,
    awaited: AwaitedCall,
    { closing, ...listening }: Caller,
  ): Promise<ExecutedCall> {
    const { workspaceId, userId: createdBy } = principal;
    const access = this.access.watch({ principal, workspaceId, createdBy }, () => {
      closing.abort(invalidKey());
    });
    try {
      const executed = await this.results.waitForResult(principal, awaited, { ...listening, signal: closing.signal });
      if ((await access.check()) !== null) throw invalidKey();
      return executed;
    } finally {
      access.stop();
    }
  }
}

/** Ids from `X-Waiting-Approval`: requests the caller has seen. */
function knownRequests(request: Request): readonly string[] {
  return (request.header('x-waiting-approval') ?? '').split(',').map((id) => id.trim());
}
