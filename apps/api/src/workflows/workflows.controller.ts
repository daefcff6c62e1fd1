import { Body, Controller, HttpCode, Post, Req, Res, UseGuards } from '@nestjs/common';
import type { Request, Response } from 'express';

import type { MemberPrincipal } from '#auth';

import { Asks } from '../auth/asks.js';
import { CurrentPrincipal } from '../auth/current-principal.js';
import { PrincipalGuard } from '../auth/principal.guard.js';
import { toWireStatus, type WireStatus } from '../streams/to-status.js';
import { HitlAnswers } from './hitl-answers.js';
import { WorkflowStart } from './workflow-start.js';

const words = { unauthenticatedText: 'Authentication required for background streaming' };

/** Workflows in the background, as OR3 clients start them and answer their questions. */
@Controller('api/workflows')
@UseGuards(PrincipalGuard)
export class WorkflowsController {
  constructor(
    private readonly workflowStart: WorkflowStart,
    private readonly answers: HitlAnswers,
  ) {}

  @Post('background')
  @HttpCode(200)
  @Asks('create', 'Job', words)
  async start(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Req() { body, headers }: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<{ readonly jobId: string; readonly status: WireStatus }> {
    const { job, allowance } = await this.workflowStart.start(principal, { body: body as unknown, headers });
    if (job.replayed) response.setHeader('Idempotent-Replayed', 'true');
    response.setHeader('X-RateLimit-Limit', String(allowance.limit));
    response.setHeader('X-RateLimit-Remaining', String(allowance.remaining));
    return { jobId: job.jobId, status: toWireStatus(job.status) };
  }

  @Post('hitl')
  @HttpCode(200)
  @Asks('approve', 'ToolCall')
  answer(@CurrentPrincipal() principal: MemberPrincipal, @Body() body: unknown): Promise<{ readonly ok: true }> {
    return this.answers.answer(principal, body);
  }
}
