import { Body, Controller, Get, HttpCode, Injectable, Param, Post, Query, UseGuards } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';

import { cannotDecide, humanInputActions } from '#approvals';
import { Authenticator, type MemberPrincipal } from '#auth';
import { CurrentPrincipal, RequireAbility, RequireAuthentication } from '#auth/api';
import { decidableBy, interruptKinds, interruptStatuses, requestNotFound, RowWorkspacesRepository } from '#jobs';
import { RowPrincipalGuard } from '#jobs/api';
import { ApiJsonBody, ApiRefusals, ApiReply, missing, named } from '#platform/api';

import { InterruptInbox, type InterruptPage } from './interrupt-inbox.js';
import { type InterruptListQuery, interruptQuery } from './interrupt-list-query.js';
import type { InterruptReply } from './to-interrupt-reply.js';

/** Guards the routes with the id of a request: the workspace of that request counts. */
@Injectable()
class InterruptPrincipalGuard extends RowPrincipalGuard {
  constructor(authenticator: Authenticator, reflector: Reflector, workspaces: RowWorkspacesRepository) {
    super(authenticator, reflector, { kind: 'interrupt', workspaces, absent: requestNotFound });
  }
}

const instant = z.number().meta({ description: 'Ms since the epoch.' });

const interrupt: z.ZodType<InterruptReply> = named(
  'Interrupt',
  z.object({
    id: z.uuid(),
    kind: z.enum(interruptKinds),
    status: z.enum(interruptStatuses),
    jobId: z.uuid(),
    rootJobId: z.uuid(),
    threadId: z.string().nullable(),
    callId: z.string().exactOptional(),
    nodeId: z.string().exactOptional(),
    path: z.array(z.string()),
    title: z.string(),
    request: z.record(z.string(), z.unknown()).meta({ description: 'The content of the request, by kind.' }),
    decidableBy: z.enum(decidableBy),
    fourEyes: z.boolean(),
    adminRequired: z.boolean(),
    createdAt: instant,
    expiresAt: instant.nullable(),
    outcome: z.string().exactOptional(),
    decidedBy: z.string().exactOptional(),
    decidedAt: instant.exactOptional(),
  }),
);

const page: z.ZodType<InterruptPage> = z.object({
  interrupts: z.array(interrupt),
  nextCursor: z
    .string()
    .nullable()
    .meta({ description: 'Pass it as `after` to get the next page. Null on the last page.' }),
});

const decision = z
  .union([
    z
      .object({
        decision: z.enum(['approve', 'deny']),
        argumentsHash: z.string().meta({ description: 'The hash of the arguments that were shown.' }),
        arguments: z
          .record(z.string(), z.unknown())
          .optional()
          .meta({ description: 'With `approve` only: replaces all arguments.' }),
        reason: z.string().max(500).optional(),
        grantMinutes: z.union([z.literal(5), z.literal(10), z.literal(30)]).optional(),
      })
      .meta({ title: 'Of a tool_approval' }),
    z
      .object({
        action: z.enum(humanInputActions),
        data: z.unknown().optional(),
        reason: z.string().max(500).optional(),
      })
      .meta({ title: 'Of a human_input or a wait' }),
    z
      .object({
        decision: z.enum(['happened', 'did_not_happen', 'repeat', 'report']),
        result: z.unknown().optional().meta({ description: 'With `happened` only.' }),
        reason: z.string().max(500).optional(),
      })
      .meta({ title: 'Of an unknown_outcome' }),
    z
      .object({ decision: z.enum(['retry', 'give_up']), reason: z.string().max(500).optional() })
      .meta({ title: 'Of a provider_unavailable or plugin_missing' }),
  ])
  .meta({ example: { decision: 'approve', argumentsHash: 'the-argumentsHash-of-the-request' } });

/** The bodies of requests and responses. The lib that owns a kind of request validates its decision, because only it knows the kind. */
const interruptBodies = {
  interrupt,
  page: named('InterruptPage', page),
  decision: named('Decision', decision),
} as const;

/** The requests that jobs wait for: the inbox, and decisions by the id of a request. */
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
  @RequireAuthentication()
  decideNothing(): never {
    throw missing('request ID');
  }

  @Post(':id/decision')
  @HttpCode(200)
  @ApiOperation({ operationId: 'decideInterrupt', summary: 'Decide a request' })
  @ApiJsonBody(interruptBodies.decision)
  @ApiReply(200, interruptBodies.interrupt, 'It is settled.')
  @ApiRefusals(400, 401, 403, 404, 409, 410, 422)
  @RequireAbility('approve', 'Interrupt', { refused: cannotDecide })
  decide(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('id') id: string,
    @Body() body: unknown,
  ): Promise<InterruptReply> {
    return this.inbox.decide(principal, id, body);
  }
}
