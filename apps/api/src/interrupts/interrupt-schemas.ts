import { z } from 'zod';

import { humanInputActions } from '#approvals';
import { decidableBy, interruptKinds, interruptStatuses } from '#jobs';
import { named } from '#platform/api';

import type { InterruptPage } from './interrupt-inbox.js';
import type { InterruptReply } from './to-interrupt-reply.js';

const instant = z.number().meta({ description: 'Ms since the epoch.' });

const interrupt: z.ZodType<InterruptReply> = named(
  'Interrupt',
  z.object({
    id: z.uuid(),
    kind: z.enum(interruptKinds),
    status: z.enum(interruptStatuses),
    jobId: z.uuid(),
    rootJobId: z.uuid(),
    threadId: z.string().nullable(),
    callId: z.string().exactOptional(),
    nodeId: z.string().exactOptional(),
    path: z.array(z.string()),
    title: z.string(),
    request: z.record(z.string(), z.unknown()).meta({ description: 'The content of the request, by kind.' }),
    decidableBy: z.enum(decidableBy),
    fourEyes: z.boolean(),
    adminRequired: z.boolean(),
    createdAt: instant,
    expiresAt: instant.nullable(),
    outcome: z.string().exactOptional(),
    decidedBy: z.string().exactOptional(),
    decidedAt: instant.exactOptional(),
  }),
);

const page: z.ZodType<InterruptPage> = z.object({
  interrupts: z.array(interrupt),
  nextCursor: z.string().nullable().meta({ description: 'For `after`; null: that was all.' }),
});

const decision = z.union([
  z
    .object({
      decision: z.enum(['approve', 'deny']),
      argumentsHash: z.string().meta({ description: 'Of what was shown.' }),
      arguments: z
        .record(z.string(), z.unknown())
        .optional()
        .meta({ description: 'With `approve` only: replaces all arguments.' }),
      reason: z.string().max(500).optional(),
      grantMinutes: z.union([z.literal(5), z.literal(10), z.literal(30)]).optional(),
    })
    .meta({ title: 'Of a tool_approval' }),
  z
    .object({
      action: z.enum(humanInputActions),
      data: z.unknown().optional(),
      reason: z.string().max(500).optional(),
    })
    .meta({ title: 'Of a human_input or a wait' }),
  z
    .object({
      decision: z.enum(['happened', 'did_not_happen', 'repeat', 'report']),
      result: z.unknown().optional().meta({ description: 'With `happened` only.' }),
      reason: z.string().max(500).optional(),
    })
    .meta({ title: 'Of an unknown_outcome' }),
  z
    .object({ decision: z.enum(['retry', 'give_up']), reason: z.string().max(500).optional() })
    .meta({ title: 'Of a provider_unavailable' }),
]);

/** What the routes of interrupts accept and answer. The lib that owns a kind checks its decision: it knows which kind is open. */
export const interruptBodies = {
  interrupt,
  page: named('InterruptPage', page),
  decision: named('Decision', decision),
} as const;
