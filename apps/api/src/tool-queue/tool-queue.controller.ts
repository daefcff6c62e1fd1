import { Controller, Get, HttpCode, Param, Post, Query, UseGuards } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import { type CancelState, DeadToolCallsService, QueuedCallsService } from '#tools';

import { Asks } from '../auth/asks.js';
import { CurrentPrincipal } from '../auth/current-principal.js';
import { PrincipalGuard } from '../auth/principal.guard.js';
import { toCursor } from '../graphql/connections/cursor.js';
import { type DeadToolCallReply, toDeadToolCall } from './to-dead-tool-call.js';
import { deadLetters, toLetterPage } from './to-letter-page.js';

/** A page of dead letters, newest first. `nextCursor` goes into `?after`; null: that was all. */
interface DeadToolCallPage {
  readonly deadToolCalls: readonly DeadToolCallReply[];
  readonly nextCursor: string | null;
}

/** The queue of isolated tools over REST. */
@Controller('api/tool-queue')
@UseGuards(PrincipalGuard)
export class ToolQueueController {
  constructor(
    private readonly letters: DeadToolCallsService,
    private readonly calls: QueuedCallsService,
  ) {}

  @Get('dead')
  @Asks('change', 'Workspace')
  async dead(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Query() query: Readonly<Record<string, unknown>>,
  ): Promise<DeadToolCallPage> {
    const { items, hasMore } = await this.letters.list(principal, toLetterPage(query));
    const last = hasMore ? items.at(-1) : undefined;
    const nextCursor = last === undefined ? null : toCursor(deadLetters, last.id);
    return { deadToolCalls: items.map(toDeadToolCall), nextCursor };
  }

  @Post('dead/:letter/redrive')
  @HttpCode(200)
  @Asks('change', 'Workspace')
  async redrive(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('letter') letter: string,
  ): Promise<DeadToolCallReply> {
    return toDeadToolCall(await this.letters.redrive(principal, letter));
  }

  @Post('calls/:call/cancel')
  @HttpCode(200)
  @Asks('cancel', 'Job')
  async cancel(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('call') call: string,
  ): Promise<{ readonly state: CancelState }> {
    return { state: await this.calls.cancel(principal, call) };
  }
}
