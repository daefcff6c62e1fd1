import { Controller, Get, HttpCode, Param, Post, Query, Req, Res, UseGuards } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';

import type { MemberPrincipal } from '#auth';
import { CurrentPrincipal, RequireAbility } from '#auth/api';
import { type AbortReply, JobAbort, JobPrincipalGuard, jobReplies } from '#jobs/api';
import { ApiRefusals, ApiReply } from '#platform/api';

import { type StatusQuery, statusQuery, type StatusReply } from '../streams/to-status.js';
import { JobRead } from './job-read.js';
import { jobStatusReply } from './job-status-schema.js';
import { JobStream } from './job-stream.js';
import { ApiJobStream } from './job-stream-docs.js';

/** Jobs by their id: status, stream, abort. */
@ApiTags('Jobs')
@Controller('api/jobs')
@UseGuards(JobPrincipalGuard)
export class JobsController {
  constructor(
    private readonly jobRead: JobRead,
    private readonly jobAbort: JobAbort,
    private readonly jobStream: JobStream,
  ) {}

  @Get(':id/status')
  @ApiOperation({ operationId: 'getJobStatus', summary: 'Get the status of a job' })
  @ApiReply(200, jobStatusReply, 'Its status, with the text that the client lacks.')
  @ApiRefusals(400, 401, 404)
  @RequireAbility('read', 'Job')
  status(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('id') id: string,
    @Query({ schema: statusQuery }) query: StatusQuery,
  ): Promise<StatusReply> {
    return this.jobRead.status(principal, id, query);
  }

  @Get(':id/stream')
  @ApiJobStream()
  @RequireAbility('read', 'Job')
  stream(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Req() request: Request<{ id: string }>,
    @Res() response: Response,
  ): Promise<void> {
    return this.jobStream.open(principal, request, response);
  }

  @Post(':id/abort')
  @ApiOperation({ operationId: 'abortJob', summary: 'Cancel a job' })
  @ApiReply(200, jobReplies.abort, 'Whether it is cancelled, or will be.')
  @ApiRefusals(401, 403)
  @HttpCode(200)
  @RequireAbility('cancel', 'Job')
  abort(@CurrentPrincipal() principal: MemberPrincipal, @Param('id') id: string): Promise<AbortReply> {
    return this.jobAbort.abort(principal, id);
  }
}
