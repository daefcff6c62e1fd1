import { Body, Controller, Get, HttpCode, Param, Post, Query, UseGuards } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';

import type { MemberPrincipal } from '#auth';
import { CurrentPrincipal, RequireAbility } from '#auth/api';
import { ApiJsonBody, ApiRefusals, ApiReply, missing } from '#platform/api';

import { InterruptInbox, type InterruptPage } from './interrupt-inbox.js';
import { type InterruptListQuery, interruptQuery } from './interrupt-list-query.js';
import { InterruptPrincipalGuard } from './interrupt-principal.guard.js';
import { interruptBodies } from './interrupt-schemas.js';
import type { InterruptReply } from './to-interrupt-reply.js';

/** What jobs wait for: the inbox, and answers by the id of a request. */
@ApiTags('Interrupts')
@Controller('api/interrupts')
@UseGuards(InterruptPrincipalGuard)
export class InterruptsController {
  constructor(private readonly inbox: InterruptInbox) {}

  @Get()
  @ApiOperation({ operationId: 'listInterrupts', summary: 'List requests, newest first' })
  @ApiReply(200, interruptBodies.page, 'A page of them.')
  @ApiRefusals(400, 401)
  @RequireAbility('read', 'Interrupt')
  list(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Query({ schema: interruptQuery }) query: InterruptListQuery,
  ): Promise<InterruptPage> {
    return this.inbox.list(principal, query);
  }

  @Get(':id')
  @ApiOperation({ operationId: 'getInterrupt', summary: 'Get a request' })
  @ApiReply(200, interruptBodies.interrupt, 'The request.')
  @ApiRefusals(401, 404)
  @RequireAbility('read', 'Interrupt')
  find(@CurrentPrincipal() principal: MemberPrincipal, @Param('id') id: string): Promise<InterruptReply> {
    return this.inbox.find(principal, id);
  }

  @Post('decision')
  @HttpCode(200)
  @ApiOperation({ operationId: 'decideNothing', summary: 'The same without an id: always 400' })
  @ApiJsonBody(interruptBodies.decision)
  @ApiRefusals(400, 401, 403, 404, 409, 410, 422)
  @RequireAbility('approve', 'Interrupt')
  decideNothing(): never {
    throw missing('request ID');
  }

  @Post(':id/decision')
  @HttpCode(200)
  @ApiOperation({ operationId: 'decideInterrupt', summary: 'Decide a request' })
  @ApiJsonBody(interruptBodies.decision)
  @ApiReply(200, interruptBodies.interrupt, 'It is settled.')
  @ApiRefusals(400, 401, 403, 404, 409, 410, 422)
  @RequireAbility('approve', 'Interrupt')
  decide(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('id') id: string,
    @Body() body: unknown,
  ): Promise<InterruptReply> {
    return this.inbox.decide(principal, id, body);
  }
}
