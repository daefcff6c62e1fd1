import { z } from 'zod';

import { named, pageQuery } from '#platform/api';

import type { DeadToolCallReply } from './to-dead-tool-call.js';

const letter: z.ZodType<Omit<DeadToolCallReply, 'reason'>> = named(
  'DeadToolCall',
  z.object({
    id: z.string(),
    reason: z.string(),
    at: z.number().meta({ description: 'Ms since the epoch.' }),
    toolCallId: z.string().nullable(),
    jobId: z.string().nullable(),
    tool: z.string().nullable(),
    status: z.string().nullable(),
    canRedrive: z.boolean(),
  }),
);

/** The query of the list. */
export const deadToolCallQuery = z.object(pageQuery);

export type DeadToolCallQuery = z.infer<typeof deadToolCallQuery>;

/** The responses of the routes of the tool queue. */
export const toolQueueReplies = {
  letter,
  page: named('DeadToolCallPage', z.object({ deadToolCalls: z.array(letter), nextCursor: z.string().nullable() })),
  cancelled: named('CancelledCall', z.object({ state: z.enum(['cancelled', 'stopping', 'settled', 'not_found']) })),
} as const;
