import { Controller, Get, HttpCode, Param, Post, Query, Req, Res, UseGuards } from '@nestjs/common';
import type { Request, Response } from 'express';

import type { MemberPrincipal } from '#auth';

import { Asks } from '../auth/asks.js';
import { CurrentPrincipal } from '../auth/current-principal.js';
import { type StatusReply, toStatusQuery } from '../streams/to-status.js';
import { type AbortReply, JobAbort } from './job-abort.js';
import { JobPrincipalGuard } from './job-principal.guard.js';
import { JobRead } from './job-read.js';
import { JobStream } from './job-stream.js';

/** Jobs by their id: status, stream, abort. */
@Controller('api/jobs')
@UseGuards(JobPrincipalGuard)
export class JobsController {
  constructor(
    private readonly jobRead: JobRead,
    private readonly jobAbort: JobAbort,
    private readonly jobStream: JobStream,
  ) {}

  @Get(':id/status')
  @Asks('read', 'Job')
  status(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('id') id: string,
    @Query() query: Record<string, unknown>,
  ): Promise<StatusReply> {
    return this.jobRead.status(principal, id, toStatusQuery(query));
  }

  @Get(':id/stream')
  @Asks('read', 'Job')
  stream(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Req() request: Request<{ id: string }>,
    @Res() response: Response,
  ): Promise<void> {
    return this.jobStream.open(principal, request, response);
  }

  @Post(':id/abort')
  @HttpCode(200)
  @Asks('cancel', 'Job')
  abort(@CurrentPrincipal() principal: MemberPrincipal, @Param('id') id: string): Promise<AbortReply> {
    return this.jobAbort.abort(principal, id);
  }
}
