import { Controller, HttpCode, Post, Req, Res, UseGuards } from '@nestjs/common';
import { ApiHeader, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';

import type { MemberPrincipal } from '#auth';
import { CurrentPrincipal, RequireAbility } from '#auth/api';
import { ApiIdempotencyKey, ApiJsonBody, ApiOnDisconnect, ApiOpenAiRefusals, ApiReply } from '#platform/api';

import { OpenAiPrincipalGuard } from '../openai-principal.guard.js';
import { openAiReplies } from '../openai-schemas.js';
import { ExecuteEndpoint } from './execute-endpoint.js';
import { executeBody } from './execute-request.js';
import type { ExecutedCall } from './execution-result.js';

/** Single calls of tools, without a model. */
@ApiTags('OpenAI')
@Controller('v1/tools')
@UseGuards(OpenAiPrincipalGuard)
export class ExecuteController {
  constructor(private readonly endpoint: ExecuteEndpoint) {}

  @Post('execute')
  @ApiOperation({
    operationId: 'executeTool',
    summary: 'Execute one tool call',
    description:
      'A job with one call and no model, by the schema, policy, limits and ledger of every call. A call that waits for this client can be executed in its place, once; its result still has to be sent as a `tool` message. A call that waits for a person is answered at once, with 504, `X-Job-Id` and the open requests in `X-Waiting-Approval`; the same `Idempotency-Key` gets its result later.',
  })
  @ApiIdempotencyKey()
  @ApiOnDisconnect()
  @ApiHeader({
    name: 'X-Waiting-Approval',
    description: 'Open requests that one knows of, by their ids, separated by commas: for these the reply is held.',
    schema: { type: 'string' },
  })
  @ApiJsonBody(executeBody)
  @ApiReply(200, openAiReplies.executed, 'What the tool gave. `X-Job-Id` names the job.')
  @ApiOpenAiRefusals(400, 401, 403, 404, 409, 413, 422, 429, 500, 503, 504)
  @HttpCode(200)
  @RequireAbility('create', 'Job')
  execute(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ExecutedCall> {
    return this.endpoint.answer(principal, request, response);
  }
}
