import { z } from 'zod';

import { named } from '#platform/api';

import type { ReadinessReport } from './readiness.js';

const ready: z.ZodType<ReadinessReport> = z.object({
  status: z.enum(['ready', 'not_ready']),
  draining: z.boolean(),
  database: z.boolean(),
  bus: z.boolean(),
});

/** What the health routes answer. */
export const healthReplies = {
  alive: named('Alive', z.object({ status: z.literal('ok') })),
  ready: named('Readiness', ready),
} as const;
