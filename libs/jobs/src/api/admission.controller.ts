import { Body, Controller, Get, HttpCode, Param, Post, Query, Res, UseGuards } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';

import type { MemberPrincipal } from '#auth';
import { CurrentPrincipal, PrincipalGuard, RequireAbility, RequireAuthentication } from '#auth/api';
import { ApiRefusals, ApiReply } from '#platform/api';

import type { MessageRef } from '../jobs.repository.js';
import { type AdmissionAbortReply, JobAbort } from './job-abort.js';
import { admissionNotFound, type AdmittedJob, JobAdmissions } from './job-admissions.js';
import { type AdmissionAbortBody, admissionAbortBody, jobReplies, messageQuery } from './job-schemas.js';

/**
 * Finds and cancels jobs by the idempotency key or the message that their starter chose. Only the principal that used a key can see its job.
 */
@ApiTags('Jobs')
@Controller('api/jobs')
@UseGuards(PrincipalGuard)
export class AdmissionController {
  constructor(
    private readonly admissions: JobAdmissions,
    private readonly jobAbort: JobAbort,
  ) {}

  @Get()
  @ApiOperation({ operationId: 'findJob', summary: 'Find the job that writes a message' })
  @ApiReply(200, jobReplies.admitted, 'The newest such job.')
  @ApiRefusals(400, 401, 404)
  @RequireAbility('read', 'Job')
  findByMessage(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Query({ schema: messageQuery }) message: MessageRef,
  ): Promise<AdmittedJob> {
    return this.admissions.findByMessage(principal, message);
  }

  @Get('admission')
  @ApiOperation({ operationId: 'getNoAdmission', summary: 'Get a job without an idempotency key: always 400' })
  @ApiRefusals(400, 401, 404)
  @RequireAuthentication()
  findNothing(@CurrentPrincipal() principal: MemberPrincipal): Promise<AdmittedJob> {
    return this.admissions.find(principal, '');
  }

  @Get('admission/:admissionId')
  @ApiOperation({ operationId: 'getAdmission', summary: 'Get the job of an idempotency key' })
  @ApiReply(200, jobReplies.admitted, 'The job.')
  @ApiRefusals(400, 401, 404)
  @RequireAbility('read', 'Job', { absent: admissionNotFound })
  find(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('admissionId') admissionId: string,
  ): Promise<AdmittedJob> {
    return this.admissions.find(principal, admissionId);
  }

  // If the key has started no job yet, a stored marker rejects a later start, so this route requires the same right as a start.
  @Post('admission-abort')
  @ApiOperation({ operationId: 'abortAdmission', summary: 'Cancel the job that a key started or will start' })
  @ApiReply(200, jobReplies.admissionAbort, 'Its status.')
  @ApiRefusals(400, 401, 403)
  @HttpCode(200)
  @RequireAbility('create', 'Job')
  async abort(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Body({ schema: admissionAbortBody }) { admissionId }: AdmissionAbortBody,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AdmissionAbortReply> {
    const reply = await this.jobAbort.abortAdmission(principal, admissionId);
    if (reply.state === 'abort_error') response.status(500);
    return reply;
  }
}
