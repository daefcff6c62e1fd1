import { Body, Controller, Get, HttpCode, Param, Post, UseGuards } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import { type Claim, ClientToolsService } from '#tools';

import { Asks } from '../auth/asks.js';
import { CurrentPrincipal } from '../auth/current-principal.js';
import { JobPrincipalGuard } from '../jobs/job-principal.guard.js';
import { ClientToolSwitch } from './client-tool-switch.js';
import { toClaim, toClaimRef, toResult } from './to-client-tool-request.js';

/** Calls that the clients of a job's starter run: claim one, validate the claim right before running it, submit what became of it. */
@Controller('api/jobs')
@UseGuards(JobPrincipalGuard)
export class ClientToolsController {
  constructor(
    private readonly service: ClientToolsService,
    private readonly theSwitch: ClientToolSwitch,
  ) {}

  @Get('client-tool/capability')
  @Asks('read', 'Job')
  capability(): { readonly available: boolean } {
    return { available: this.theSwitch.isOn };
  }

  @Post(':id/client-tool/claim')
  @HttpCode(200)
  @Asks('change', 'Job')
  claim(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('id') id: string,
    @Body() body: unknown,
  ): Promise<Claim> {
    this.theSwitch.assertOn();
    return this.service.claim(principal, id, toClaim(body));
  }

  @Post(':id/client-tool/validate')
  @HttpCode(200)
  @Asks('change', 'Job')
  validate(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('id') id: string,
    @Body() body: unknown,
  ): Promise<{ readonly valid: true; readonly expiresAt: number }> {
    this.theSwitch.assertOn();
    return this.service.validate(principal, id, toClaimRef(body));
  }

  @Post(':id/client-tool/result')
  @HttpCode(200)
  @Asks('change', 'Job')
  result(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('id') id: string,
    @Body() body: unknown,
  ): Promise<{ readonly accepted: true }> {
    this.theSwitch.assertOn();
    return this.service.submit(principal, id, toResult(body));
  }
}
