import { defineEnum } from '#platform/api';

import type { Workspace } from '../../workspaces/workspace.js';

type WhenBusy = Workspace['whenBusy'];
type WhenFull = Workspace['whenFull'];
type ToolIsolation = Workspace['toolIsolation'];

/** GraphQL names of what a start does if its thread is busy. */
export const WhenBusyEnum = defineEnum('WhenBusy', 'What a start does when a job is active in its thread.', {
  REJECT: ['reject', 'The start is refused (`thread_busy`).'],
  ENQUEUE: ['enqueue', 'The new job is queued behind the active one.'],
  INTERRUPT: ['interrupt', 'The active job and all queued jobs of the thread are cancelled first.'],
}) satisfies Record<Uppercase<WhenBusy>, WhenBusy>;

/** GraphQL names of what a start does at a cap on running jobs. */
export const WhenFullEnum = defineEnum(
  'WhenFull',
  'What happens to a new job while the number of running jobs is at a cap of the workspace.',
  {
    QUEUE: [
      'queue',
      'The job is queued, and runs when the number of running jobs is below the caps again. Queued jobs are chosen fairly between users.',
    ],
    REJECT: ['reject', 'The start is refused with `job_limit_reached`, and nothing is stored.'],
  },
) satisfies Record<Uppercase<WhenFull>, WhenFull>;

/** GraphQL names of where server tools run. */
export const ToolIsolationEnum = defineEnum('ToolIsolation', 'Where server tools run. Values may be added.', {
  PER_TOOL: ['per_tool', 'As each tool declares: in the worker of the job, or in the tool processes.'],
  QUEUE: ['queue', 'Every call goes through the tool queue to the tool processes.'],
}) satisfies Record<Uppercase<ToolIsolation>, ToolIsolation>;
