import { z } from 'zod';

import { jobKinds, jobStatuses, type ToolCallItem } from '#jobs';
import { invalidBody, invalidField, missing, named, refusedWith } from '#platform/api';

import type { StatusReply } from '../streams/to-status.js';
import { idempotencyKeyPattern } from './idempotency-key.js';
import type { AbortReply, AdmissionAbortReply } from './job-abort.js';
import type { AdmittedJob } from './job-read.js';

const wireStatus = z.enum(['streaming', 'complete', 'error', 'aborted']);
const instant = z.number().meta({ description: 'Ms since the epoch.' });
const count = z.int().min(0);

const admitted: z.ZodType<AdmittedJob> = z.object({
  jobId: z.uuid(),
  status: wireStatus,
  threadId: z.string().nullable().meta({ description: 'As the starter named it.' }),
  messageId: z.string().nullable(),
});

const toolCall: z.ZodType<ToolCallItem> = named(
  'ToolCall',
  z.object({
    id: z.string(),
    name: z.string(),
    status: z.enum(['pending', 'loading', 'complete', 'error', 'skipped']),
    args: z.string().meta({ description: 'JSON text of what it was run with, or is going to be.' }),
    proposedArgs: z
      .string()
      .exactOptional()
      .meta({ description: 'What the model had proposed, where a person made something else of it.' }),
    result: z.string().exactOptional(),
    output: z.string().exactOptional(),
    error: z.string().exactOptional(),
  }),
);

const part = (description: string) => z.string().exactOptional().meta({ description });

const status = z.object({
  id: z.uuid(),
  status: wireStatus,
  job_status: z.enum(jobStatuses),
  threadId: z.string().nullable(),
  messageId: z.string().nullable(),
  model: z.string(),
  kind: z.enum(jobKinds),
  chunksReceived: count,
  attempt: count.meta({ description: 'Grows each time shown text is withdrawn.' }),
  seq: count.meta({ description: 'Number of the last event.' }),
  startedAt: instant,
  completedAt: instant.nullable(),
  error: z.string().nullable(),
  code: z.string().nullable().meta({ description: 'Of a failed job: the stable code of `error`. The list grows.' }),
  tool_calls: z.array(toolCall),
  content: part('All text; absent where a part was asked for.'),
  content_delta: part('Text from `offset` on.'),
  content_length: count.meta({ description: 'UTF-16 code units.' }),
  content_reset: z.literal(true).exactOptional(),
  reasoning: part('The same for reasoning.'),
  reasoning_delta: part('Reasoning from `reasoning_offset` on.'),
  reasoning_length: count,
  reasoning_reset: z.literal(true).exactOptional(),
  workflow_state: z.looseObject({ executionState: z.string() }).nullable().meta({
    description: 'Of a workflow: nodes, outputs and messages as they stand. docs/workflows.md has its members.',
  }),
}) satisfies z.ZodType<{ readonly [member in keyof StatusReply]?: unknown }>;

const abort: z.ZodType<AbortReply> = z.union([
  z.object({ aborted: z.literal(true), state: z.literal('aborted'), status: z.literal('aborted') }),
  z.object({
    aborted: z.literal(false),
    state: z.enum(['already_terminal', 'cancel_requested', 'not_found']),
    message: z.string(),
  }),
]);

const admissionAbort: z.ZodType<AdmissionAbortReply> = z.object({
  aborted: z.boolean(),
  pending: z.boolean(),
  jobId: z.string().nullable(),
  state: z.enum(['aborted', 'cancel_requested', 'already_terminal', 'abort_error']),
});

const admissionAbortSchema = z.object({ admissionId: z.string().regex(idempotencyKeyPattern) });

/** The idempotency key of a start that is to be cancelled. */
export const admissionAbortBody = refusedWith(named('AdmissionAbort', admissionAbortSchema), ({ field, value }) => {
  if (field === undefined) return invalidBody();
  const isAbsent = value === undefined || value === null || value === '';
  return isAbsent ? missing('admission ID') : invalidField(field, 'must be 1 to 255 visible ASCII characters');
});

export type AdmissionAbortBody = z.infer<typeof admissionAbortBody>;

/** What the routes of jobs answer. */
export const jobReplies = {
  admitted: named('AdmittedJob', admitted),
  status: named('JobStatus', status),
  abort: named('AbortReply', abort),
  admissionAbort: named('AdmissionAbortReply', admissionAbort),
} as const;
