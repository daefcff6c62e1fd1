import { Body, Controller, Get, HttpCode, Param, Post, UseGuards } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';

import { forbidden, type MemberPrincipal } from '#auth';
import { CurrentPrincipal, RequireAbility, RequireAuthentication } from '#auth/api';
import { JobPrincipalGuard } from '#jobs/api';
import { ApiRefusals, ApiReply } from '#platform/api';

import { type Claim, type ClaimRef, ClientToolsService } from '../../client-tools/client-tools.service.js';
import {
  type ClaimBody,
  claimBody,
  claimReference,
  clientToolReplies,
  type ResultBody,
  resultBody,
} from './client-tool-schemas.js';
import { ClientToolSwitch } from './client-tool-switch.js';
import { ClientToolsOnGuard } from './client-tools-on.guard.js';

/**
 * Calls that the clients of a job's requester run. A client claims a call, validates the claim right before it runs the tool, and submits the
 * result.
 */
@ApiTags('Client tools')
@Controller('api/jobs')
@UseGuards(JobPrincipalGuard)
export class ClientToolsController {
  constructor(
    private readonly service: ClientToolsService,
    private readonly theSwitch: ClientToolSwitch,
  ) {}

  @Get('client-tool/capability')
  @ApiOperation({ operationId: 'getClientToolCapability', summary: 'Check whether client tools are enabled' })
  @ApiReply(200, clientToolReplies.capability, 'The decision.')
  @ApiRefusals(401)
  @RequireAuthentication()
  capability(): { readonly available: boolean } {
    return { available: this.theSwitch.isOn };
  }

  @Post(':id/client-tool/claim')
  @UseGuards(ClientToolsOnGuard)
  @ApiOperation({ operationId: 'claimClientTool', summary: 'Claim a call for 30 s' })
  @ApiReply(200, clientToolReplies.claim, 'Done.')
  @ApiRefusals(400, 401, 403, 404, 409, 413, 501)
  @HttpCode(200)
  @RequireAbility('change', 'Job', { refused: forbidden })
  claim(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('id') id: string,
    @Body({ schema: claimBody }) body: ClaimBody,
  ): Promise<Claim> {
    return this.service.claim(principal, id, body);
  }

  @Post(':id/client-tool/validate')
  @UseGuards(ClientToolsOnGuard)
  @ApiOperation({ operationId: 'validateClientTool', summary: 'Validate the claim right before running the call' })
  @ApiReply(200, clientToolReplies.validated, 'Done.')
  @ApiRefusals(400, 401, 403, 404, 409, 413, 501)
  @HttpCode(200)
  @RequireAbility('change', 'Job', { refused: forbidden })
  validate(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('id') id: string,
    @Body({ schema: claimReference }) body: ClaimRef,
  ): Promise<{ readonly valid: true; readonly expiresAt: number }> {
    return this.service.validate(principal, id, body);
  }

  @Post(':id/client-tool/result')
  @UseGuards(ClientToolsOnGuard)
  @ApiOperation({ operationId: 'resultClientTool', summary: 'Submit the result of the call' })
  @ApiReply(200, clientToolReplies.accepted, 'Done.')
  @ApiRefusals(400, 401, 403, 404, 409, 413, 501)
  @HttpCode(200)
  @RequireAbility('change', 'Job', { refused: forbidden })
  result(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('id') id: string,
    @Body({ schema: resultBody }) { callId, claimToken, result = null, error = null }: ResultBody,
  ): Promise<{ readonly accepted: true }> {
    return this.service.submit(principal, id, { callId, claimToken, result, error });
  }
}
