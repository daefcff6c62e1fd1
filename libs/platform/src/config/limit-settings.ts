import { whole } from './setting-kinds.js';

/** The operator's limits on workspaces and users, across all processes. */
export const limitSettings = {
  RUNNING_JOBS_CEILING: whole([1_000, 1, 1_000_000], "Maximum of a workspace's cap on running jobs (`maxJobs`)."),
  RUNNING_JOBS_PER_USER_CEILING: whole(
    [1_000, 1, 1_000_000],
    "Maximum of a workspace's cap on the running jobs of one user (`maxJobsPerUser`).",
  ),
  MAX_UNFINISHED_JOBS: whole([10_000, 1, 10_000_000], 'Queued, running and waiting jobs that a workspace may store.'),
  MAX_UNFINISHED_JOBS_PER_USER: whole(
    [1_000, 1, 10_000_000],
    'Queued, running and waiting jobs that a user may have in a workspace.',
  ),
  STARTS_PER_MINUTE: whole([600, 1, 1_000_000], 'Job starts of a user, with all keys and in all workspaces.'),
  STARTS_PER_MINUTE_PER_WORKSPACE: whole([6_000, 1, 10_000_000], 'Job starts of a workspace.'),
  WORKFLOW_STARTS_PER_MINUTE: whole([30, 1, 1_000_000], 'Workflow starts of a user.'),
  WORKFLOW_STARTS_PER_MINUTE_PER_WORKSPACE: whole([300, 1, 10_000_000], 'Workflow starts of a workspace.'),
  HITL_ANSWERS_PER_MINUTE: whole([120, 1, 1_000_000], 'Answers of a user to questions of workflows.'),
  MAX_API_KEYS_PER_USER: whole([100, 1, 100_000], 'Usable API keys of a user in a workspace.'),
  MAX_API_KEYS: whole([1_000, 1, 1_000_000], 'Usable API keys of a workspace.'),
  MAX_WORKSPACES_PER_USER: whole([100, 1, 1_000_000], 'Workspaces that a user owns.'),
  SOCKETS_PER_USER: whole([50, 1, 100_000], 'Open WebSocket connections of a user, across all API processes.'),
};
