import { Controller, HttpCode, Post, Req, Res, UseGuards } from '@nestjs/common';
import type { Request, Response } from 'express';

import type { MemberPrincipal } from '#auth';

import { Asks } from '../../auth/asks.js';
import { CurrentPrincipal } from '../../auth/current-principal.js';
import { OpenAiPrincipalGuard } from '../openai-principal.guard.js';
import { ExecuteEndpoint } from './execute-endpoint.js';
import type { ExecutedCall } from './execution-result.js';

/** Single calls of tools, without a model. */
@Controller('v1/tools')
@UseGuards(OpenAiPrincipalGuard)
export class ExecuteController {
  constructor(private readonly door: ExecuteEndpoint) {}

  @Post('execute')
  @HttpCode(200)
  @Asks('create', 'Job')
  execute(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ExecutedCall> {
    return this.door.answer(principal, request, response);
  }
}
