import { registerEnumType } from '@nestjs/graphql';

import type { Workspace } from '../../workspaces/workspace.js';

type WhenBusy = Workspace['whenBusy'];
type WhenFull = Workspace['whenFull'];

/** GraphQL's names of what a busy thread does with a start. */
export const WhenBusyEnum = {
  REJECT: 'reject',
  ENQUEUE: 'enqueue',
  INTERRUPT: 'interrupt',
} as const satisfies Record<Uppercase<WhenBusy>, WhenBusy>;

registerEnumType(WhenBusyEnum, {
  name: 'WhenBusy',
  description: 'What a start does when a job is active in its thread.',
  valuesMap: {
    REJECT: { description: 'The start is refused (`thread_busy`).' },
    ENQUEUE: { description: 'The new job is queued behind the active one.' },
    INTERRUPT: { description: 'The active job and all queued jobs of the thread are cancelled first.' },
  },
});

/** GraphQL's names of what a start over a cap does. */
export const WhenFullEnum = { QUEUE: 'queue', REJECT: 'reject' } as const satisfies Record<
  Uppercase<WhenFull>,
  WhenFull
>;

registerEnumType(WhenFullEnum, {
  name: 'WhenFull',
  description: 'What happens to a new job while the number of running jobs is at a cap of the workspace.',
  valuesMap: {
    QUEUE: {
      description:
        'The job is queued, and runs when the number of running jobs is below the caps again. Queued jobs are chosen fairly between users.',
    },
    REJECT: { description: 'The start is refused with `job_limit_reached`, and nothing is stored.' },
  },
});
