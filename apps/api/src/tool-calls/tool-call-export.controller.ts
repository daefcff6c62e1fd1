import { Controller, Get, Query, Res, UseGuards } from '@nestjs/common';
import type { Response } from 'express';

import type { MemberPrincipal } from '#auth';

import { Asks } from '../auth/asks.js';
import { CurrentPrincipal } from '../auth/current-principal.js';
import { PrincipalGuard } from '../auth/principal.guard.js';
import { toExportFilter } from './to-export-filter.js';
import { ToolCallExport } from './tool-call-export.js';

/** The history of tool calls as a file. */
@Controller('api/tool-calls')
@UseGuards(PrincipalGuard)
export class ToolCallExportController {
  constructor(private readonly exports: ToolCallExport) {}

  @Get('export')
  @Asks('survey', 'ToolCall')
  export(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Query() query: Readonly<Record<string, unknown>>,
    @Res() response: Response,
  ): Promise<void> {
    return this.exports.write(principal, toExportFilter(query), response);
  }
}
