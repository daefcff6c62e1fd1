import { z } from 'zod';

import { humanInputActions } from '#approvals';
import { jobLabels } from '#jobs';
import { AppError } from '#platform';
import { invalidBody, missing, named, refusedWith } from '#platform/api';

const id = z.string().min(1).max(256);

const startWorkflow = z.object({
  workflowId: z.string().meta({ description: 'Its id.' }),
  workflowName: z.string().optional(),
  startAt: z.iso
    .datetime({ offset: true })
    .optional()
    .meta({ description: 'When the job begins, at most 366 days ahead; the job is accepted immediately.' }),
  labels: jobLabels.optional().meta({ description: 'Labels of the job.' }),
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

const answer = z.object({
  requestId: z.string().min(1),
  jobId: z.string().min(1),
  action: z.enum(humanInputActions),
  data: z.unknown().optional(),
});

/** What the routes of workflows accept and answer. */
export const workflowBodies = {
  start: named('StartWorkflow', startWorkflow),
  started: named(
    'StartedWorkflow',
    z.object({ jobId: z.uuid(), status: z.enum(['streaming', 'complete', 'error', 'aborted']) }),
  ),
  answer: refusedWith(named('WorkflowAnswer', answer), ({ field, value }) => {
    if (field === undefined) return invalidBody();
    if (value === undefined || value === null || value === '') return missing(field);
    const message = typeof value === 'string' ? `Invalid ${field}` : `${field} must be a string`;
    return new AppError({ code: 'bad_request', message, field });
  }),
  ok: named('Ok', z.object({ ok: z.literal(true) })),
} as const;

/** An answer to a question of a workflow. */
export type WorkflowAnswer = z.infer<typeof answer>;
