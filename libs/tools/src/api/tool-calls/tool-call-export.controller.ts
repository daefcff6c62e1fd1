import { Controller, Get, Query, Res, UseGuards } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';

import type { MemberPrincipal } from '#auth';
import { CurrentPrincipal, PrincipalGuard, RequireAbility } from '#auth/api';
import { ApiMediaReply, ApiRefusals } from '#platform/api';

import { type ExportQuery, exportQuery, toExportFilter } from './to-export-filter.js';
import { ToolCallExport } from './tool-call-export.js';

/** The history of tool calls as a file. */
@ApiTags('Tools')
@Controller('api/tool-calls')
@UseGuards(PrincipalGuard)
export class ToolCallExportController {
  constructor(private readonly exports: ToolCallExport) {}

  @Get('export')
  @ApiOperation({ operationId: 'exportToolCalls', summary: 'Export the tool calls of all jobs' })
  @ApiMediaReply(200, 'One line of JSON for each call.', { 'application/x-ndjson': 'The calls.' })
  @ApiRefusals(400, 401, 403)
  @RequireAbility('survey', 'ToolCall')
  export(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Query({ schema: exportQuery }) query: ExportQuery,
    @Res() response: Response,
  ): Promise<void> {
    return this.exports.write(principal, toExportFilter(query), response);
  }
}
