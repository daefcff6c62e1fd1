import { Controller, HttpCode, Post, Req, Res, UseGuards } from '@nestjs/common';
import { ApiHeader, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';

import type { MemberPrincipal } from '#auth';
import { CurrentPrincipal, RequireAbility } from '#auth/api';
import { ApiIdempotencyKey, ApiJsonBody, ApiOnDisconnect, ApiOpenAiRefusals, ApiReply } from '#platform/api';

import { OpenAiPrincipalGuard } from '../openai-principal.guard.js';
import { type ExecutedCall, openAiReplies } from '../openai-schemas.js';
import { ExecuteEndpoint } from './execute-endpoint.js';
import { executeBody } from './execute-request.js';

/** Executes single tool calls, without a model. */
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
      'Runs one call as a job without a model. The schema of the tool, the approval policy, the limits and the history apply as for any call. The server can execute, once, a call that waits for this client; the client still sends the result as a `tool` message. If the call waits for a person, the server responds at once with 504, `X-Job-Id`, and the open requests in `X-Waiting-Approval`. The same `Idempotency-Key` returns the result later.',
  })
  @ApiIdempotencyKey()
  @ApiOnDisconnect()
  @ApiHeader({
    name: 'X-Waiting-Approval',
    description:
      'Ids of open requests that the client already knows, separated by commas. The server does not respond early because of them.',
    schema: { type: 'string' },
  })
  @ApiJsonBody(executeBody)
  @ApiReply(200, openAiReplies.executed, 'The result of the tool. `X-Job-Id` names the job.')
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
