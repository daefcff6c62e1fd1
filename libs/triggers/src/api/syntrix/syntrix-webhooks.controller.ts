import { Controller, Param, Post, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';

import { Public } from '#auth/api';
import { AppError } from '#platform';
import { ApiMediaReply, ApiPublic, ApiRefusals, readPublicBody } from '#platform/api';

import { defaultConnection, type SyntrixTarget } from '../../syntrix/syntrix-delivery.js';
import { SyntrixReceiver, type SyntrixReply, unauthorized } from '../../syntrix/syntrix-receiver.service.js';

const accepted = { 'text/plain': '`OK`: accepted, or a repetition. `Ignored`: there is nothing to do.' };

/** Where the triggers of Syntrix databases deliver their changes. A signature takes the place of a credential. */
@ApiTags('Syntrix')
@ApiPublic()
@Public()
@Controller('webhook')
export class SyntrixWebhooksController {
  constructor(private readonly receiver: SyntrixReceiver) {}

  @Post('llm')
  @ApiOperation({ operationId: 'deliverSyntrixMessage', summary: 'Answer a chat of the connection "default"' })
  @ApiMediaReply(200, 'The delivery is accepted.', accepted)
  @ApiRefusals(400, 401, 413, 429, 500, 501)
  message(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.reply({ route: 'llm', connection: defaultConnection }, request, response);
  }

  @Post('tool')
  @ApiOperation({ operationId: 'deliverSyntrixToolCall', summary: 'Run a tool call of the connection "default"' })
  @ApiMediaReply(200, 'The delivery is accepted.', accepted)
  @ApiRefusals(400, 401, 413, 429, 500, 501)
  toolCall(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.reply({ route: 'tool', connection: defaultConnection }, request, response);
  }

  @Post(':connection/llm')
  @ApiOperation({ operationId: 'deliverSyntrixMessageTo', summary: 'Answer a chat of a connection, by its id or name' })
  @ApiMediaReply(200, 'The delivery is accepted.', accepted)
  @ApiRefusals(400, 401, 413, 429, 500, 501)
  messageTo(@Param('connection') connection: string, @Req() request: Request, @Res() response: Response) {
    return this.reply({ route: 'llm', connection }, request, response);
  }

  @Post(':connection/tool')
  @ApiOperation({
    operationId: 'deliverSyntrixToolCallTo',
    summary: 'Run a tool call of a connection, by its id or name',
  })
  @ApiMediaReply(200, 'The delivery is accepted.', accepted)
  @ApiRefusals(400, 401, 413, 429, 500, 501)
  toolCallTo(@Param('connection') connection: string, @Req() request: Request, @Res() response: Response) {
    return this.reply({ route: 'tool', connection }, request, response);
  }

  private async reply(target: SyntrixTarget, request: Request, response: Response): Promise<void> {
    const reply = (await this.receiver.isKnown(target)) ? await this.receive(target, request) : unauthorized;
    if (reply.retryAfterSeconds !== undefined) response.setHeader('Retry-After', String(reply.retryAfterSeconds));
    response.status(reply.status).type('text/plain').send(reply.text);
  }

  private async receive(target: SyntrixTarget, request: Request): Promise<PublicReply> {
    const body = await readPublicBody(request, `syntrix ${target.connection}`).catch(toTooLarge);
    return Buffer.isBuffer(body) ? this.receiver.receive(target, { headers: request.headers, body }) : body;
  }
}

type PublicReply = Omit<SyntrixReply, 'status'> & { readonly status: SyntrixReply['status'] | 413 };

function toTooLarge(error: unknown): PublicReply {
  if (error instanceof AppError && error.code === 'too_large') return { status: 413, text: 'Payload Too Large' };
  throw error;
}
