import { Controller, Get, HttpCode, Param, Post, Query, UseGuards } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';

import type { MemberPrincipal } from '#auth';
import { CurrentPrincipal, PrincipalGuard, RequireAbility } from '#auth/api';
import { ApiRefusals, ApiReply, toCursor } from '#platform/api';

import { DeadToolCallsService } from '../../remote/dead-tool-calls.service.js';
import { queuedCallNotFound } from '../../remote/tool-queue.errors.js';
import { type CancelState, ToolQueueCancels } from '../../remote/tool-queue-cancels.js';
import { type DeadToolCallQuery, deadToolCallQuery, toolQueueReplies } from './dead-tool-call-schemas.js';
import { type DeadToolCallReply, toDeadToolCall } from './to-dead-tool-call.js';
import { deadLetters, toLetterPage } from './to-letter-page.js';

/** A page of dead letters, newest first. Clients pass `nextCursor` as `?after`; null: this is the last page. */
interface DeadToolCallPage {
  readonly deadToolCalls: readonly DeadToolCallReply[];
  readonly nextCursor: string | null;
}

/** The REST API of the tool queue. */
@ApiTags('Tools')
@Controller('api/tool-queue')
@UseGuards(PrincipalGuard)
export class ToolQueueController {
  constructor(
    private readonly letters: DeadToolCallsService,
    private readonly cancels: ToolQueueCancels,
  ) {}

  @Get('dead')
  @ApiOperation({ operationId: 'listDeadToolCalls', summary: 'List dead letters of the tool queue' })
  @ApiReply(200, toolQueueReplies.page, 'A page of them.')
  @ApiRefusals(400, 401, 403)
  @RequireAbility('change', 'Workspace')
  async dead(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Query({ schema: deadToolCallQuery }) query: DeadToolCallQuery,
  ): Promise<DeadToolCallPage> {
    const { items, hasMore } = await this.letters.list(principal, toLetterPage(query));
    const last = hasMore ? items.at(-1) : undefined;
    const nextCursor = last === undefined ? null : toCursor(deadLetters, last.place);
    return { deadToolCalls: items.map(toDeadToolCall), nextCursor };
  }

  @Post('dead/:letter/redrive')
  @ApiOperation({ operationId: 'redriveDeadToolCall', summary: 'Send the call again' })
  @ApiReply(200, toolQueueReplies.letter, 'It is sent.')
  @ApiRefusals(401, 403, 404, 409)
  @HttpCode(200)
  @RequireAbility('change', 'Workspace')
  async redrive(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('letter') letter: string,
  ): Promise<DeadToolCallReply> {
    return toDeadToolCall(await this.letters.redrive(principal, letter));
  }

  @Post('calls/:call/cancel')
  @ApiOperation({ operationId: 'cancelQueuedCall', summary: 'Cancel an isolated tool call' })
  @ApiReply(200, toolQueueReplies.cancelled, 'Its status.')
  @ApiRefusals(401, 403, 404)
  @HttpCode(200)
  @RequireAbility('cancel', 'Job', { absent: queuedCallNotFound })
  async cancel(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('call') call: string,
  ): Promise<{ readonly state: CancelState }> {
    return { state: await this.cancels.cancelFor(principal, call) };
  }
}
