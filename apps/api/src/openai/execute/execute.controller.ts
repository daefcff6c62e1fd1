import { Controller, HttpCode, Post, Req, Res, UseGuards } from '@nestjs/common';
import type { Request, Response } from 'express';

import type { MemberPrincipal } from '#auth';

import { Asks } from '../../auth/asks.js';
import { CurrentPrincipal } from '../../auth/current-principal.js';
import { OpenAiPrincipalGuard } from '../openai-principal.guard.js';
import { parseCompletionHeaders } from '../request/completion-headers.js';
import { parseExecuteRequest } from './execute-request.js';
import { type ExecutedCall, ExecutionResult } from './execution-result.js';
import { ToolExecution } from './tool-execution.js';

/** Single calls of tools, without a model. */
@Controller('v1/tools')
@UseGuards(OpenAiPrincipalGuard)
export class ExecuteController {
  constructor(
    private readonly execution: ToolExecution,
    private readonly results: ExecutionResult,
  ) {}

  @Post('execute')
  @HttpCode(200)
  @Asks('create', 'Job')
  async execute(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ExecutedCall> {
    const { idempotencyKey, onDisconnect } = parseCompletionHeaders(request.headers);
    const asked = parseExecuteRequest(request.body);
    const { jobId } = await this.execution.start(principal, asked, idempotencyKey);
    response.setHeader('X-Job-Id', jobId);
    return this.results.hold(principal, { jobId, toolName: asked.toolName, onDisconnect }, response);
  }
}
