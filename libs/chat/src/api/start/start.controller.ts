import { Controller, Post, Req, Res, UseGuards } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';

import type { MemberPrincipal } from '#auth';
import { CurrentPrincipal, PrincipalGuard, RequireAbility } from '#auth/api';
import { type AdmittedJob, jobReplies, toWireStatus } from '#jobs/api';
import { ApiIdempotencyKey, ApiJsonBody, ApiRefusals, ApiReply } from '#platform/api';

import { JobStart } from './job-start.js';
import { or3Example, startBody } from './start-body.js';

const words = { unauthenticatedText: 'Authentication required for background streaming' };

const startDescription =
  'An OpenAI chat request with control fields, each of which may have a leading underscore. The job keeps running in the background when the client disconnects.';

/** Starts chat jobs, on our route and on the route that OR3 clients use. */
@ApiTags('Jobs')
@Controller('api')
@UseGuards(PrincipalGuard)
export class StartController {
  constructor(private readonly jobStart: JobStart) {}

  @Post('jobs')
  @ApiOperation({ operationId: 'startJob', summary: 'Start a chat job', description: startDescription })
  @ApiIdempotencyKey()
  @ApiJsonBody(startBody)
  @ApiRefusals(400, 401, 403, 404, 409, 413, 422, 429, 501, 503)
  @ApiReply(202, jobReplies.admitted, 'It is accepted.')
  @ApiReply(200, jobReplies.admitted, 'The key had started it before.')
  @RequireAbility('create', 'Job', words)
  start(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AdmittedJob> {
    return this.answer(principal, { request, response, accepted: 202, mustSayBackground: false });
  }

  @Post('openrouter/stream')
  @ApiOperation({
    operationId: 'startOr3Job',
    summary: 'Start a chat job, as clients of OR3 do (`_background: true`)',
    description: startDescription,
  })
  @ApiIdempotencyKey()
  @ApiJsonBody(startBody, or3Example)
  @ApiRefusals(400, 401, 403, 404, 409, 413, 422, 429, 503)
  @ApiReply(200, jobReplies.admitted, 'It is accepted.')
  @RequireAbility('create', 'Job', words)
  startOr3(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AdmittedJob> {
    return this.answer(principal, { request, response, accepted: 200, mustSayBackground: true });
  }

  private async answer(principal: MemberPrincipal, route: Route): Promise<AdmittedJob> {
    const { request, response, accepted, mustSayBackground } = route;
    const body: unknown = request.body;
    const { job, allowance } = await this.jobStart.start(principal, {
      body,
      headers: request.headers,
      mustSayBackground,
    });
    response.status(job.replayed ? 200 : accepted);
    if (job.replayed) response.setHeader('Idempotent-Replayed', 'true');
    response.setHeader('X-RateLimit-Limit', String(allowance.limit));
    response.setHeader('X-RateLimit-Remaining', String(allowance.remaining));
    const { jobId, status, threadId, messageId } = job;
    return { jobId, status: toWireStatus(status), threadId, messageId };
  }
}

interface Route {
  readonly request: Request;
  readonly response: Response;
  readonly accepted: 200 | 202;
  readonly mustSayBackground: boolean;
}
