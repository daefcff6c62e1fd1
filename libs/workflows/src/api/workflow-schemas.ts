import { z } from 'zod';

import { humanInputActions } from '#approvals';
import { maxModelRetryForMs } from '#chat/api';
import { jobLabels } from '#jobs';
import { AppError } from '#platform';
import { invalidBody, missing, named, refusedWith } from '#platform/api';

const id = z.string().min(1).max(256);

const message = z.looseObject({ role: z.string() }).meta({ description: 'A chat message: its role and content.' });

const resumeFrom = z.object({
  startNodeId: z.string().min(1).meta({ description: 'A top-level node of the workflow.' }),
  nodeOutputs: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: 'Outputs by node id. A value that is not a string is converted to JSON text.' }),
  executionOrder: z.array(z.string()).optional(),
  pendingNodes: z.array(z.string()).optional(),
  sessionMessages: z.array(message).optional(),
  resumeInput: z
    .unknown()
    .optional()
    .meta({ description: 'The input of the node. It replaces the outputs of the nodes before it.' }),
});

const startWorkflow = z
  .object({
    workflowId: z.string().meta({ description: 'Id of the workflow.' }),
    workflowName: z.string().optional(),
    startAt: z.iso
      .datetime({ offset: true })
      .optional()
      .meta({ description: 'When the job begins, at most 366 days ahead; the job is accepted immediately.' }),
    labels: jobLabels.optional().meta({ description: 'Labels of the job.' }),
    workflowUpdatedAt: z.number().optional().meta({
      description:
        'When the copy of the client was changed. If that is later than the stored definition, the response is 409.',
    }),
    workflowVersion: z.union([z.number(), z.string()]).optional(),
    prompt: z.string(),
    threadId: id,
    messageId: id,
    conversationHistory: z.array(message).optional(),
    attachments: z.array(z.looseObject({})).optional(),
    workflow: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'The copy of the client. It is compared with the stored definition, which always runs.' }),
    resumeFrom: resumeFrom.optional().meta({ description: 'The job starts at a node, with known outputs.' }),
    modelRetryForMs: z.int().min(0).max(maxModelRetryForMs).optional(),
    onProviderDown: z.enum(['wait', 'fail']).optional(),
    admissionId: z.string().optional().meta({ description: 'As the header `Idempotency-Key`.' }),
  })
  .meta({
    example: {
      workflowId: 'my-workflow',
      prompt: 'The moon',
      threadId: 'my-workflow-thread',
      messageId: 'my-message-1',
    },
  });

/** The body of a start without null and empty texts. Unknown fields are dropped. */
export type StartWorkflowBody = z.infer<typeof startWorkflow>;

const answer = z
  .object({
    requestId: z.string().min(1),
    jobId: z.string().min(1),
    action: z.enum(humanInputActions),
    data: z.unknown().optional(),
  })
  .meta({ example: { requestId: 'the-id-of-the-request', jobId: 'the-id-of-the-job', action: 'approve' } });

/** Uses the names of JSON types, as the other messages of this API do. */
function inJsonTerms(text: string): string {
  return text.replaceAll(/\ba text\b/g, 'a string').replaceAll(/\ba list\b/g, 'an array');
}

/** The request and response bodies of the workflow routes. */
export const workflowBodies = {
  start: refusedWith(named('StartWorkflow', startWorkflow), ({ field, value, path, text }) => {
    if (field === undefined) return invalidBody();
    if (value === undefined) return missing(field);
    const message =
      path === 'resumeFrom.startNodeId' ? 'resumeFrom requires a startNodeId' : `${path} ${inJsonTerms(text)}`;
    return new AppError({ code: 'bad_request', message, field: path });
  }),
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
