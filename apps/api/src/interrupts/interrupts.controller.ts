import { Body, Controller, Get, HttpCode, Param, Post, Query, UseGuards } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';

import { Asks } from '../auth/asks.js';
import { CurrentPrincipal } from '../auth/current-principal.js';
import { InterruptInbox, type InterruptPage } from './interrupt-inbox.js';
import { InterruptPrincipalGuard } from './interrupt-principal.guard.js';
import type { InterruptReply } from './to-interrupt-reply.js';

/** What jobs wait for: the inbox, and answers by the id of a request. */
@Controller('api/interrupts')
@UseGuards(InterruptPrincipalGuard)
export class InterruptsController {
  constructor(private readonly inbox: InterruptInbox) {}

  @Get()
  @Asks('read', 'Job')
  list(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Query() query: Readonly<Record<string, unknown>>,
  ): Promise<InterruptPage> {
    return this.inbox.list(principal, query);
  }

  @Get(':id')
  @Asks('read', 'Job')
  find(@CurrentPrincipal() principal: MemberPrincipal, @Param('id') id: string): Promise<InterruptReply> {
    return this.inbox.find(principal, id);
  }

  @Post(['decision', ':id/decision'])
  @HttpCode(200)
  @Asks('approve', 'ToolCall')
  decide(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('id') id: string | undefined,
    @Body() body: unknown,
  ): Promise<InterruptReply> {
    return this.inbox.decide(principal, id, body);
  }
}
