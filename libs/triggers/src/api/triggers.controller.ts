import { Body, Controller, HttpCode, Param, Post, Req, Res, UseGuards } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { z } from 'zod';

import type { MemberPrincipal } from '#auth';
import { CurrentPrincipal, PrincipalGuard, Public, RequireAbility } from '#auth/api';
import { AppError } from '#platform';
import { ApiMediaReply, ApiPublic, ApiRefusals, ApiReply, named, readPublicBody } from '#platform/api';

import { Changes } from '../inbound/changes.service.js';
import { type HookOutcome, Hooks } from '../inbound/hooks.service.js';
import { triggerEvents } from '../inbound/trigger-definition.js';

const name = z.string().min(1).max(1_024);
const document = z.record(z.string(), z.unknown());
const change = z.object({
  type: z.enum(triggerEvents),
  collection: name,
  documentId: name,
  document: document.nullish().transform((given) => given ?? undefined),
  before: document.nullish().transform((given) => given ?? undefined),
  timestamp: z.int().min(0),
  lsn: z.string().min(1).max(256).optional(),
  seq: z.int().min(0).optional(),
});
const bodies = {
  changes: named('DocumentChanges', z.object({ changes: z.array(change).min(1).max(1_000) })),
  accepted: named('AcceptedChanges', z.object({ accepted: z.int(), duplicates: z.int() })),
};

const replies: Readonly<Record<HookOutcome, readonly [number, string]>> = {
  ok: [200, 'OK'],
  ignored: [200, 'Ignored'],
  invalid: [400, 'Invalid payload'],
  unauthorized: [401, 'Unauthorized'],
  'too-many': [429, 'Too Many Requests'],
};

/** Where changes of documents arrive. */
@ApiTags('Triggers')
@Controller()
@UseGuards(PrincipalGuard)
export class TriggersController {
  constructor(private readonly changes: Changes) {}

  @Post('api/triggers/:database/changes')
  @ApiOperation({ operationId: 'publishChanges', summary: 'Publish changes of documents' })
  @ApiReply(202, bodies.accepted, 'They are stored, and their triggers are evaluated.')
  @ApiRefusals(400, 401, 403, 404, 409, 413, 422, 429)
  @HttpCode(202)
  @RequireAbility('publish', 'Trigger')
  publish(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('database') database: string,
    @Body({ schema: bodies.changes }) body: z.infer<typeof bodies.changes>,
  ): Promise<z.infer<typeof bodies.accepted>> {
    return this.changes.publish(principal, database, body.changes);
  }
}

/** Where requests to triggers arrive. Their signature is the credential. */
@ApiTags('Triggers')
@Controller('hooks')
@Public()
export class HooksController {
  constructor(private readonly hooks: Hooks) {}

  @Post(':triggerId')
  @ApiOperation({ operationId: 'fireTrigger', summary: 'Fire a trigger by a signed request' })
  @ApiMediaReply(200, 'Accepted, a repetition, or nothing to do.', { 'text/plain': '`OK` or `Ignored`' })
  @ApiRefusals(400, 401, 413, 429, 500)
  @ApiPublic()
  @HttpCode(200)
  async fire(@Param('triggerId') triggerId: string, @Req() request: Request, @Res() response: Response): Promise<void> {
    const [status, text] = await this.receive(triggerId, request);
    if (status === 429) response.setHeader('Retry-After', '1');
    response.status(status).type('text/plain').send(text);
  }

  private async receive(triggerId: string, request: Request): Promise<readonly [number, string]> {
    try {
      if (!(await this.hooks.isKnown(triggerId))) return replies.unauthorized;
      const body = await readPublicBody(request, `hook ${triggerId}`);
      return replies[await this.hooks.receive(triggerId, { headers: request.headers, body })];
    } catch (error) {
      if (error instanceof AppError && error.code === 'too_large') return [413, 'Payload Too Large'];
      if (error instanceof AppError && error.code === 'rate_limited') return [429, 'Too Many Requests'];
      if (error instanceof AppError && error.code === 'bad_request') return replies.invalid;
      return [500, 'Internal Server Error'];
    }
  }
}
