import { Controller, HttpCode, Post, Req, Res, UseGuards } from '@nestjs/common';
import type { Request, Response } from 'express';

import type { MemberPrincipal } from '#auth';

import { Asks } from '../../auth/asks.js';
import { CurrentPrincipal } from '../../auth/current-principal.js';
import { OpenAiPrincipalGuard } from '../openai-principal.guard.js';
import { CompletionEndpoint } from './completion-endpoint.js';

/** Chat completions as OpenAI's clients ask for them. */
@Controller('v1/chat')
@UseGuards(OpenAiPrincipalGuard)
export class CompletionsController {
  constructor(private readonly door: CompletionEndpoint) {}

  @Post('completions')
  @HttpCode(200)
  @Asks('create', 'Job')
  complete(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    return this.door.answer(principal, request, response);
  }
}
