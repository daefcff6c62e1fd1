import { Controller, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';

import { Public } from '#auth/api';
import { LOGGER, type Logger } from '#platform';
import { ApiMediaReply, ApiPublic, ApiRefusals, readPublicBody } from '#platform/api';

import { defaultConnection, type SyntrixTarget } from '../../syntrix/syntrix-delivery.js';
import { SyntrixReceiver, unknownConnection } from '../../syntrix/syntrix-receiver.service.js';
import { replyInPublic } from '../public-refusal.js';

const accepted = { 'text/plain': '`OK`: accepted, or a repetition. `Ignored`: there is nothing to do.' };

/** Receives the changes that the triggers of Syntrix databases deliver. A signature replaces a credential. */
@ApiTags('Syntrix')
@ApiPublic()
@Public()
@Controller('webhook')
export class SyntrixWebhooksController {
  constructor(
    private readonly receiver: SyntrixReceiver,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Post('llm')
  @ApiOperation({ operationId: 'deliverSyntrixMessage', summary: 'Answer a chat of the connection "default"' })
  @ApiMediaReply(200, 'The delivery is accepted.', accepted)
  @ApiRefusals(400, 401, 413, 429, 500, 501, 503)
  message(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.reply({ route: 'llm', connection: defaultConnection }, request, response);
  }

  @Post('tool')
  @ApiOperation({ operationId: 'deliverSyntrixToolCall', summary: 'Run a tool call of the connection "default"' })
  @ApiMediaReply(200, 'The delivery is accepted.', accepted)
  @ApiRefusals(400, 401, 413, 429, 500, 501, 503)
  toolCall(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.reply({ route: 'tool', connection: defaultConnection }, request, response);
  }

  @Post(':connection/llm')
  @ApiOperation({ operationId: 'deliverSyntrixMessageTo', summary: 'Answer a chat of a connection, by its id or name' })
  @ApiMediaReply(200, 'The delivery is accepted.', accepted)
  @ApiRefusals(400, 401, 413, 429, 500, 501, 503)
  messageTo(@Param('connection') connection: string, @Req() request: Request, @Res() response: Response) {
    return this.reply({ route: 'llm', connection }, request, response);
  }

  @Post(':connection/tool')
  @ApiOperation({
    operationId: 'deliverSyntrixToolCallTo',
    summary: 'Run a tool call of a connection, by its id or name',
  })
  @ApiMediaReply(200, 'The delivery is accepted.', accepted)
  @ApiRefusals(400, 401, 413, 429, 500, 501, 503)
  toolCallTo(@Param('connection') connection: string, @Req() request: Request, @Res() response: Response) {
    return this.reply({ route: 'tool', connection }, request, response);
  }

  private reply(target: SyntrixTarget, request: Request, response: Response): Promise<void> {
    const name = `syntrix ${target.connection}`;
    return replyInPublic(response, { logger: this.logger, target: name }, async () => {
      if (!(await this.receiver.isKnown(target))) return unknownConnection;
      const body = await readPublicBody(request, name);
      return this.receiver.receive(target, { headers: request.headers, body });
    });
  }
}
