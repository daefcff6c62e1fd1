import { applyDecorators, Controller, Get, HttpCode, Param, Post, Query, Req, Res, UseGuards } from '@nestjs/common';
import { ApiHeader, ApiOperation, ApiParam, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { z } from 'zod';

import type { MemberPrincipal } from '#auth';
import { CurrentPrincipal, RequireAbility } from '#auth/api';
import { jobEventMeanings, jobKinds, jobStatuses } from '#jobs';
import { type AbortReply, JobAbort, JobPrincipalGuard, jobReplies, wireStatus } from '#jobs/api';
import { ApiMediaReply, ApiRefusals, ApiReply, named } from '#platform/api';
import { workflowStateSchema } from '#workflows/api';

import { type StatusCall, type StatusQuery, statusQuery, type StatusReply } from '../streams/to-status.js';
import { JobRead } from './job-read.js';
import { JobStream } from './job-stream.js';

const events = Object.entries(jobEventMeanings)
  .map(([kind, { body, meaning }]) => `- \`${kind}\` (${body}): ${meaning}`)
  .join('\n');

const whole = { type: 'integer', minimum: 0 } as const;
const query = (name: string, description: string, schema: object = whole) =>
  ApiQuery({ name, description, schema, required: false });

/** Documents the stream of a job. The handler reads its parameters from the request itself, because they decide before it writes anything. */
const ApiJobStream = () =>
  applyDecorators(
    ApiOperation({
      operationId: 'streamJob',
      summary: 'Follow a job',
      description: `Server-sent events. \`id\` is the event's number, \`event\` its kind, \`data\` JSON with \`seq\`, \`jobId\`, \`at\`, \`attempt\` and:\n\n${events}\n\nBeside these: \`snapshot\` (the job as it stands, with which a stream may begin) and \`closed\` (why the server ends the stream).`,
    }),
    ApiParam({ name: 'id', schema: { type: 'string' } }),
    ApiHeader({
      name: 'Last-Event-ID',
      description: 'The last event number that the client received.',
      schema: whole,
    }),
    query('after', 'The same, where no header can be sent.'),
    query('format', '`or3`: status objects, as clients of OR3 (another chat client) read them.', {
      type: 'string',
      enum: ['or3'],
    }),
    query('offset', 'With `format=or3`: the length of the content that the client received.'),
    query('attempt', 'The `attempt` that the offset was counted in.'),
    ApiMediaReply(200, 'The stream.', { 'text/event-stream': 'See above.' }),
    ApiMediaReply(204, 'The job ended, and the client has received all events.', {}),
    ApiRefusals(400, 401, 404, 429),
  );

const instant = z.number().meta({ description: 'Ms since the epoch.' });
const count = z.int().min(0);

const toolCall: z.ZodType<StatusCall> = named(
  'ToolCall',
  z.object({
    id: z.string(),
    name: z.string(),
    status: z.enum(['pending', 'loading', 'complete', 'error', 'skipped']),
    args: z.string().meta({ description: 'JSON text of the arguments with which the call runs.' }),
    proposedArgs: z
      .string()
      .exactOptional()
      .meta({ description: 'The arguments that the model proposed, if a person changed them.' }),
    result: z.string().exactOptional(),
    output: z.string().exactOptional(),
    error: z.string().exactOptional(),
    retryable: z
      .boolean()
      .exactOptional()
      .meta({ description: 'Of an error: whether the same call may succeed later.' }),
    round: count.meta({ description: 'The round that requested it.' }),
    durationMs: z
      .number()
      .exactOptional()
      .meta({ description: 'How long the call ran, in ms. Absent: the call has not ended, or never ran.' }),
  }),
);

const part = (description: string) => z.string().exactOptional().meta({ description });

const status = z.object({
  id: z.uuid(),
  status: wireStatus,
  job_status: z.enum(jobStatuses),
  threadId: z.string().nullable(),
  messageId: z.string().nullable(),
  externalUserId: z.string().exactOptional().meta({
    description: 'For a chat of a Syntrix database: the id of the chat’s user in that database.',
  }),
  model: z.string(),
  kind: z.enum(jobKinds),
  labels: z
    .record(z.string(), z.string())
    .meta({ description: 'Key-value pairs from the start of the job and from hooks.' }),
  chunksReceived: count,
  attempt: count.meta({
    description: 'Number of `round-restarted` events so far. Each restart removes streamed text.',
  }),
  seq: count.meta({ description: 'Number of the last event.' }),
  startedAt: instant,
  completedAt: instant.nullable(),
  error: z.string().nullable(),
  code: z.string().nullable().meta({ description: 'Of a failed job: the stable code of `error`. The list grows.' }),
  retryable: z
    .boolean()
    .nullable()
    .meta({ description: 'Of a failed job: whether a retry may succeed without a change.' }),
  rounds: count.meta({ description: 'Number of committed rounds, including those of workflow nodes.' }),
  durationMs: z
    .number()
    .nullable()
    .meta({ description: 'Time from acceptance to the end, in ms. Null: the job has not ended.' }),
  tool_calls: z.array(toolCall),
  content: part('All text; absent if the query requests a part.'),
  content_delta: part('Text from `offset` on.'),
  content_length: count.meta({ description: 'UTF-16 code units.' }),
  content_reset: z.literal(true).exactOptional(),
  reasoning: part('The same for reasoning.'),
  reasoning_delta: part('Reasoning from `reasoning_offset` on.'),
  reasoning_length: count,
  reasoning_reset: z.literal(true).exactOptional(),
  workflow_state: workflowStateSchema.nullable().meta({
    description: 'For a workflow: the current nodes, outputs and messages. Long texts are truncated.',
  }),
}) satisfies z.ZodType<{ readonly [member in keyof StatusReply]?: unknown }>;

/** The response of the status route. */
const jobStatusReply = named('JobStatus', status);

/** Jobs by their id: status, stream, abort. */
@ApiTags('Jobs')
@Controller('api/jobs')
@UseGuards(JobPrincipalGuard)
export class JobsController {
  constructor(
    private readonly jobRead: JobRead,
    private readonly jobAbort: JobAbort,
    private readonly jobStream: JobStream,
  ) {}

  @Get(':id/status')
  @ApiOperation({ operationId: 'getJobStatus', summary: 'Get the status of a job' })
  @ApiReply(200, jobStatusReply, 'Its status, with the text that the client lacks.')
  @ApiRefusals(400, 401, 404)
  @RequireAbility('read', 'Job')
  status(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Param('id') id: string,
    @Query({ schema: statusQuery }) query: StatusQuery,
  ): Promise<StatusReply> {
    return this.jobRead.status(principal, id, query);
  }

  @Get(':id/stream')
  @ApiJobStream()
  @RequireAbility('read', 'Job')
  stream(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Req() request: Request<{ id: string }>,
    @Res() response: Response,
  ): Promise<void> {
    return this.jobStream.open(principal, request, response);
  }

  @Post(':id/abort')
  @ApiOperation({ operationId: 'abortJob', summary: 'Cancel a job' })
  @ApiReply(200, jobReplies.abort, 'Whether it is cancelled, or will be.')
  @ApiRefusals(401, 403)
  @HttpCode(200)
  @RequireAbility('cancel', 'Job', { absent: 'handler' })
  abort(@CurrentPrincipal() principal: MemberPrincipal, @Param('id') id: string): Promise<AbortReply> {
    return this.jobAbort.abort(principal, id);
  }
}
