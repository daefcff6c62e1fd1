import { Controller, HttpCode, Post, Req, Res, UseGuards } from '@nestjs/common';
import { ApiHeader, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';

import type { MemberPrincipal } from '#auth';
import { CurrentPrincipal, RequireAbility } from '#auth/api';
import { ApiIdempotencyKey, ApiJsonBody, ApiMediaReply, ApiOnDisconnect, ApiOpenAiRefusals } from '#platform/api';

import { OpenAiPrincipalGuard } from '../openai-principal.guard.js';
import { openAiReplies } from '../openai-schemas.js';
import { completionBody } from '../request/completion-body.js';
import { CompletionEndpoint } from './completion-endpoint.js';

/** OpenAI's chat completions. */
@ApiTags('OpenAI')
@Controller('v1/chat')
@UseGuards(OpenAiPrincipalGuard)
export class CompletionsController {
  constructor(private readonly endpoint: CompletionEndpoint) {}

  @Post('completions')
  @ApiOperation({
    operationId: 'createChatCompletion',
    summary: 'Create a chat completion',
    description:
      'Agents, workflows and models of the workspace by `model`. Server tools run on the server. Functions of the request go to the client, whose next request returns their results and continues the job.',
  })
  @ApiIdempotencyKey()
  @ApiHeader({
    name: 'X-Session-Id',
    description: 'Names the conversation.',
    schema: { type: 'string', minLength: 1, maxLength: 200 },
  })
  @ApiHeader({
    name: 'X-Tool-Event-Format',
    description:
      'How tool calls are shown. Absent: `openai` for a request with functions or their results, else the format of the agent.',
    schema: { type: 'string', enum: ['inline', 'open-webui', 'none', 'openai'] },
  })
  @ApiOnDisconnect()
  @ApiJsonBody(completionBody)
  @ApiMediaReply(200, 'The completion. `X-Job-Id` has its job.', {
    'application/json': openAiReplies.completion,
    'text/event-stream': 'Each `data` line is a `ChatCompletionChunk`, the last one `[DONE]`.',
  })
  @ApiOpenAiRefusals(400, 401, 404, 409, 413, 422, 429, 500, 503, 504)
  @HttpCode(200)
  @RequireAbility('create', 'Job')
  complete(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    return this.endpoint.answer(principal, request, response);
  }
}
