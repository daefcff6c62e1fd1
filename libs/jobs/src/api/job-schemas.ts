import { z } from 'zod';

import { invalidBody, invalidField, invalidParameter, missing, named, refusedWith } from '#platform/api';

import type { MessageRef } from '../jobs.repository.js';
import { idempotencyKeyPattern, idempotencyKeyRule } from './idempotency-key.js';
import type { AbortReply, AdmissionAbortReply } from './job-abort.js';
import type { AdmittedJob } from './job-admissions.js';

export const wireStatus = z.enum(['streaming', 'complete', 'error', 'aborted']);
const admitted: z.ZodType<AdmittedJob> = z.object({
  jobId: z.uuid(),
  status: wireStatus,
  threadId: z
    .string()
    .nullable()
    .meta({ description: 'The id of the thread that the client chose, else the server id.' }),
  messageId: z.string().nullable(),
});

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

const admissionAbortSchema = z
  .object({ admissionId: z.string().regex(idempotencyKeyPattern) })
  .meta({ example: { admissionId: 'the-key-of-a-start' } });

/** The idempotency key of the start to cancel. */
export const admissionAbortBody = refusedWith(named('AdmissionAbort', admissionAbortSchema), ({ field, value }) => {
  if (field === undefined) return invalidBody();
  const isAbsent = value === undefined || value === null || value === '';
  return isAbsent ? missing('admission ID') : invalidField(field, idempotencyKeyRule);
});

const messageRef: z.ZodType<MessageRef> = z.object({
  threadId: z
    .string()
    .min(1)
    .max(256)
    .meta({ description: 'The thread, by its server id or by the id that the client chose.' }),
  messageId: z
    .string()
    .min(1)
    .max(256)
    .meta({ description: 'The assistant message, by its server id or by the id that the client chose.' }),
});

/** The query parameters `threadId` and `messageId`. */
export const messageQuery = refusedWith(messageRef, ({ field, value }) => {
  if (field === undefined) return invalidBody();
  return value === undefined || value === '' ? missing(field) : invalidParameter(field);
});

export type AdmissionAbortBody = z.infer<typeof admissionAbortBody>;

/** The replies of the job routes. */
export const jobReplies = {
  admitted: named('AdmittedJob', admitted),
  abort: named('AbortReply', abort),
  admissionAbort: named('AdmissionAbortReply', admissionAbort),
} as const;
