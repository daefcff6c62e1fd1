import { z } from 'zod';

import { jobKinds, jobStatuses, type ToolCallItem } from '#jobs';
import { wireStatus } from '#jobs/api';
import { named } from '#platform/api';

import type { StatusReply } from '../streams/to-status.js';

const instant = z.number().meta({ description: 'Ms since the epoch.' });
const count = z.int().min(0);

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

/** The response of the status route. */
export const jobStatusReply = named('JobStatus', status);
