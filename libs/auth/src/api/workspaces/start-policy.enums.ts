import { registerEnumType } from '@nestjs/graphql';

import type { Workspace } from '../../workspaces/workspace.js';

type WhenBusy = Workspace['whenBusy'];
type WhenFull = Workspace['whenFull'];
type ToolIsolation = Workspace['toolIsolation'];

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

/** GraphQL's names of where server tools run. */
export const ToolIsolationEnum = { PER_TOOL: 'per_tool', QUEUE: 'queue' } as const satisfies Record<
  Uppercase<ToolIsolation>,
  ToolIsolation
>;

registerEnumType(ToolIsolationEnum, {
  name: 'ToolIsolation',
  description: 'Where server tools run. Values may be added.',
  valuesMap: {
    PER_TOOL: { description: 'As each tool declares: in the worker of the job, or in the tool processes.' },
    QUEUE: { description: 'Every call goes through the isolated queue to the tool processes.' },
  },
});
