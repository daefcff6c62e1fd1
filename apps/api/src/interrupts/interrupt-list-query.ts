import { z } from 'zod';

import { interruptKinds, interruptStatuses, listedKinds } from '#jobs';
import { optional, pageQuery } from '#platform/api';

/** The query of the inbox. */
export const interruptQuery = z.object({
  ...pageQuery,
  status: optional(z.enum(interruptStatuses)).meta({ description: 'Only these.' }),
  kind: optional(z.enum(interruptKinds)).meta({ description: 'Only these.', enum: listedKinds }),
  jobId: optional(z.string()).meta({ description: 'Of this job.' }),
  rootJobId: optional(z.string()).meta({ description: 'Of this job and all its sub-jobs.' }),
  threadId: optional(z.string()).meta({ description: 'Of this thread.' }),
});

export type InterruptListQuery = z.infer<typeof interruptQuery>;
