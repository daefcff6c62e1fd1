import { z } from 'zod';

import { humanInputActions } from '#tools';

import type { ReadinessReport } from '../health/readiness.js';
import type { DeadToolCallReply } from '../tool-queue/to-dead-tool-call.js';
import type { Endpoints } from './endpoints.js';

const letter: z.ZodType<Omit<DeadToolCallReply, 'reason'>> = z.object({
  id: z.string(),
  reason: z.string(),
  at: z.number().meta({ description: 'Ms since the epoch.' }),
  toolCallId: z.string().nullable(),
  jobId: z.string().nullable(),
  tool: z.string().nullable(),
  status: z.string().nullable(),
  canRedrive: z.boolean(),
});

const ready: z.ZodType<ReadinessReport> = z.object({
  status: z.enum(['ready', 'not_ready']),
  draining: z.boolean(),
  database: z.boolean(),
  bus: z.boolean(),
});

const id = z.string().min(1).max(256);

const startWorkflow = z.object({
  workflowId: z.string().meta({ description: 'Its id.' }),
  workflowName: z.string().optional(),
  workflowUpdatedAt: z.number().optional().meta({ description: 'Newer than the stored definition: 409.' }),
  workflowVersion: z.union([z.string(), z.int()]).optional(),
  prompt: z.string(),
  threadId: id,
  messageId: id,
  conversationHistory: z.array(z.looseObject({ role: z.string(), content: z.unknown() })).optional(),
  attachments: z.array(z.looseObject({})).optional(),
  workflow: z
    .looseObject({})
    .optional()
    .meta({ description: 'Compared with the stored definition, which always runs.' }),
  resumeFrom: z.looseObject({ startNodeId: z.string() }).optional(),
  admissionId: z.string().optional().meta({ description: 'As the header `Idempotency-Key`.' }),
});

const index: z.ZodType<Endpoints> = z.object({
  name: z.string(),
  about: z.string(),
  endpoints: z.record(z.string(), z.string()).meta({ description: 'Paths, by protocol.' }),
});

/** Workflows, the queue of isolated tools, health, and the other API. */
export const operationSchemas = {
  StartWorkflow: startWorkflow,
  StartedWorkflow: z.object({ jobId: z.uuid(), status: z.enum(['streaming', 'complete', 'error', 'aborted']) }),
  WorkflowAnswer: z.object({
    requestId: z.string(),
    jobId: z.string(),
    action: z.enum(humanInputActions),
    data: z.unknown().optional(),
  }),
  Ok: z.object({ ok: z.literal(true) }),
  DeadToolCall: letter,
  DeadToolCallPage: z.object({ deadToolCalls: z.array(letter), nextCursor: z.string().nullable() }),
  CancelledCall: z.object({ state: z.enum(['cancelled', 'stopping', 'settled', 'not_found']) }),
  Endpoints: index,
  Alive: z.object({ status: z.literal('ok') }),
  Readiness: ready,
  GraphqlRequest: z.object({
    query: z
      .string()
      .optional()
      .meta({ description: 'Required, unless `extensions.persistedQuery` names a document.' }),
    variables: z.record(z.string(), z.unknown()).nullish(),
    operationName: z.string().nullish(),
    extensions: z.record(z.string(), z.unknown()).nullish(),
  }),
  GraphqlReply: z.object({
    data: z.record(z.string(), z.unknown()).nullish(),
    errors: z.array(z.looseObject({ message: z.string() })).optional(),
  }),
} as const;
