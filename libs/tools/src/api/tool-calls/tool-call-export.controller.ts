import { Controller, Get, Query, Res, UseGuards } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { z } from 'zod';

import type { MemberPrincipal } from '#auth';
import { CurrentPrincipal, PrincipalGuard, RequireAbility } from '#auth/api';
import { ApiMediaReply, ApiRefusals, toIdOrNone } from '#platform/api';

import { parseArgumentCondition } from '../../history/argument-content.js';
import type { ToolCallFilter } from '../../history/tool-call-filter.js';
import type { ToolSort } from '../../tool.js';
import { toolCallStatuses } from '../../tool-call.js';
import { toPrincipalId, withoutGaps } from './to-tool-call-filter.js';
import { ToolCallExport } from './tool-call-export.js';

const sorts: readonly ToolSort[] = ['server', 'client', 'http', 'mcp'];

const text = (description: string) => z.string().min(1).optional().meta({ description });

const id = (description: string) => z.string().min(1).transform(toIdOrNone).optional().meta({ description });

/** A comma-separated list of known values. */
const choices = <T extends string>(known: readonly T[], description: string) =>
  z
    .string()
    .transform((value, context) =>
      value.split(',').map((part) => {
        const choice = known.find((word) => word === part);
        if (choice !== undefined) return choice;
        context.addIssue({ code: 'custom', message: 'Unknown' });
        return z.NEVER;
      }),
    )
    .optional()
    .meta({ description });

const instant = z
  .string()
  .refine((value) => /^\d{4}-\d{2}-\d{2}T.*(?:Z|[+-]\d{2}:\d{2})$/.test(value) && !Number.isNaN(Date.parse(value)))
  .transform((value) => Date.parse(value))
  .optional()
  .meta({ description: 'RFC 3339.', format: 'date-time' });

const milliseconds = z
  .preprocess(
    (value) => (typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value),
    z.number().min(0),
  )
  .optional()
  .meta({ description: 'Ms.', type: 'integer' });

/**
 * The query of the export. An unknown parameter is an error, like an invalid value: otherwise a misspelled filter would export more calls
 * than the caller wants.
 */
const exportQuery = z.strictObject({
  user: id('Whose jobs.'),
  thread: id('A thread.'),
  job: id('A job.'),
  workflow: id('A workflow.'),
  tool: text('A name; `*` and `?` stand for others.'),
  runtime: choices(sorts, 'Sorts of tools, with commas: server, client, http, mcp.'),
  status: choices(toolCallStatuses, `With commas: ${toolCallStatuses.join(', ')}.`),
  errorPhase: text('Where it failed.'),
  errorCode: text('How it failed.'),
  errorText: text('A part of the error’s text.'),
  approver: text('Who decided.'),
  from: instant,
  to: instant,
  minDurationMs: milliseconds,
  maxDurationMs: milliseconds,
  argument: z
    .preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(z.string().min(1)))
    .optional()
    .meta({ description: 'A condition on an argument; may be repeated.' }),
});

type ExportQuery = z.infer<typeof exportQuery>;

/** Throws `bad_request` for a condition on an argument that cannot be parsed. */
function toExportFilter(query: ExportQuery): ToolCallFilter {
  return withoutGaps({
    createdBy: query.user,
    threadId: query.thread,
    jobId: query.job,
    workflowId: query.workflow,
    tool: query.tool,
    runtimes: query.runtime,
    statuses: query.status,
    errorPhase: query.errorPhase,
    errorCode: query.errorCode,
    errorText: query.errorText,
    approver: query.approver === undefined ? undefined : toPrincipalId(query.approver),
    createdAfter: query.from,
    createdBefore: query.to,
    minDurationMs: query.minDurationMs,
    maxDurationMs: query.maxDurationMs,
    arguments: query.argument?.map(parseArgumentCondition),
  });
}

/** Exports the history of tool calls as a file. */
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
