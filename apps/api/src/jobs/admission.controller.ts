import { Body, Controller, Get, HttpCode, Param, Post, Res, UseGuards } from '@nestjs/common';
import type { Response } from 'express';

import type { MemberPrincipal } from '#auth';

import { Asks } from '../auth/asks.js';
import { CurrentPrincipal } from '../auth/current-principal.js';
import { PrincipalGuard } from '../auth/principal.guard.js';
import { type AdmissionAbortReply, JobAbort } from './job-abort.js';
import { type AdmittedJob, JobRead } from './job-read.js';
import { toAdmissionKey } from './to-admission-key.js';

/** Jobs by the idempotency key that started them, or will. Only the principal that used the key sees anything. */
@Controller('api/jobs')
@UseGuards(PrincipalGuard)
export class AdmissionController {
  constructor(
    private readonly jobRead: JobRead,
    private readonly jobAbort: JobAbort,
  ) {}

  @Get(['admission', 'admission/:admissionId'])
  @Asks('read', 'Job')
  find(@CurrentPrincipal() principal: MemberPrincipal, @Param('admissionId') admissionId = ''): Promise<AdmittedJob> {
    return this.jobRead.admission(principal, admissionId);
  }

  // Leaves a marker where no job is yet, so it asks for the right that the start would have asked for.
  @Post('admission-abort')
  @HttpCode(200)
  @Asks('create', 'Job')
  async abort(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Body() body: unknown,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AdmissionAbortReply> {
    const reply = await this.jobAbort.abortAdmission(principal, toAdmissionKey(body));
    if (reply.state === 'abort_error') response.status(500);
    return reply;
  }
}
