import { Body, Controller, HttpCode, Inject, Param, Post, Req, Res, UseGuards } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { z } from 'zod';

import type { MemberPrincipal } from '#auth';
import { CurrentPrincipal, PrincipalGuard, Public, RequireAbility } from '#auth/api';
import { LOGGER, type Logger } from '#platform';
import {
  ApiMediaReply,
  ApiPublic,
  ApiRefusals,
  ApiReply,
  invalidParameter,
  named,
  readPublicBody,
} from '#platform/api';

import { Changes } from '../inbound/changes.service.js';
import { type HookOutcome, Hooks } from '../inbound/hooks.service.js';
import { triggerEvents, triggerLimits } from '../inbound/trigger-definition.js';
import { type PublicReply, replyInPublic } from './public-refusal.js';

const name = z.string().min(1).max(1_024);
const databasePattern = new RegExp(`^[\\w-]{1,${triggerLimits.name}}$`);
const document = z.record(z.string(), z.unknown());
const change = z.object({
  type: z.enum(triggerEvents),
  collection: name,
  documentId: name,
  document: document.nullish().transform((given) => given ?? undefined),
  before: document.nullish().transform((given) => given ?? undefined),
  timestamp: z.int().min(0),
  lsn: z
    .union([z.string().min(1).max(256), z.number()])
    .transform(String)
    .optional(),
  seq: z.int().min(0).optional(),
});
const bodies = {
  changes: named(
    'DocumentChanges',
    z.object({ changes: z.array(change).min(1).max(1_000) }).meta({
      example: {
        changes: [
          {
            ...{ type: 'create', collection: 'orders', documentId: 'order-1' },
            document: { total: 42 },
            timestamp: 1_767_225_600_000,
          },
        ],
      },
    }),
  ),
  accepted: named('AcceptedChanges', z.object({ accepted: z.int(), duplicates: z.int() })),
};

const replies: Readonly<Record<HookOutcome, PublicReply>> = {
  ok: { status: 200, text: 'OK' },
  ignored: { status: 200, text: 'Ignored' },
  invalid: { status: 400, text: 'Invalid payload' },
  unauthorized: { status: 401, text: 'Unauthorized' },
  'too-many': { status: 429, text: 'Too Many Requests', retryAfterSeconds: 1 },
};

/** Receives changes of documents. */
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
    if (!databasePattern.test(database)) throw invalidParameter('database');
    return this.changes.publish(principal, database, body.changes);
  }
}

/** Receives requests to triggers. Their signature is the credential. */
@ApiTags('Triggers')
@Controller('hooks')
@Public()
export class HooksController {
  constructor(
    private readonly hooks: Hooks,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Post(':triggerId')
  @ApiOperation({ operationId: 'fireTrigger', summary: 'Fire a trigger by a signed request' })
  @ApiMediaReply(200, 'Accepted, a repetition, or nothing to do.', { 'text/plain': '`OK` or `Ignored`' })
  @ApiRefusals(400, 401, 413, 429, 500, 503)
  @ApiPublic()
  @HttpCode(200)
  fire(@Param('triggerId') triggerId: string, @Req() request: Request, @Res() response: Response): Promise<void> {
    const target = `hook ${triggerId}`;
    return replyInPublic(response, { logger: this.logger, target }, async () => {
      if (!(await this.hooks.isKnown(triggerId))) return { ...replies.unauthorized, reason: 'the trigger is unknown' };
      const body = await readPublicBody(request, target);
      const { outcome, ...reason } = await this.hooks.receive(triggerId, { headers: request.headers, body });
      return { ...replies[outcome], ...reason };
    });
  }
}
