import { Body, Controller, HttpCode, Post, Req, Res, UseGuards } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';

import type { MemberPrincipal } from '#auth';
import { CurrentPrincipal, PrincipalGuard, RequireAbility } from '#auth/api';
import { toWireStatus, type WireStatus } from '#jobs/api';
import { ApiIdempotencyKey, ApiJsonBody, ApiRefusals, ApiReply } from '#platform/api';

import { HitlAnswers, hitlRequestNotFound } from './hitl-answers.js';
import { type WorkflowAnswer, workflowBodies } from './workflow-schemas.js';
import { WorkflowStart } from './workflow-start.js';

const words = { unauthenticatedText: 'Authentication required for background streaming' };

/** Workflows in the background, as OR3 clients start them and answer their questions. */
@ApiTags('Workflows')
@Controller('api/workflows')
@UseGuards(PrincipalGuard)
export class WorkflowsController {
  constructor(
    private readonly workflowStart: WorkflowStart,
    private readonly answers: HitlAnswers,
  ) {}

  @Post('background')
  @ApiOperation({ operationId: 'startWorkflow', summary: 'Start a workflow' })
  @ApiIdempotencyKey()
  @ApiJsonBody(workflowBodies.start)
  @ApiReply(200, workflowBodies.started, 'Its job.')
  @ApiRefusals(400, 401, 403, 404, 409, 413, 422, 429, 501, 503)
  @HttpCode(200)
  @RequireAbility('create', 'Job', words)
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
  @ApiOperation({ operationId: 'answerWorkflow', summary: 'Decide a request of a workflow' })
  @ApiReply(200, workflowBodies.ok, 'It is answered.')
  @ApiRefusals(400, 401, 403, 404, 409, 410, 413, 422, 429)
  @HttpCode(200)
  @RequireAbility('read', 'Interrupt', { absent: hitlRequestNotFound })
  answer(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Body({ schema: workflowBodies.answer }) body: WorkflowAnswer,
  ): Promise<{ readonly ok: true }> {
    return this.answers.answer(principal, body);
  }
}
