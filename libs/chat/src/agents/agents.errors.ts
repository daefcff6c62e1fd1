import { AppError } from '#platform';

/** The agent is unknown, archived, or belongs to another workspace. */
export const agentNotFound = () => new AppError({ code: 'not_found', message: 'Agent not found', field: 'agent' });

export const agentVersionNotFound = () =>
  new AppError({ code: 'not_found', message: 'Agent version not found', field: 'version' });

/** A member of the input is invalid. */
export const agentInvalid = (field: string, problem: string) =>
  new AppError({ code: 'bad_request', message: `${field}: ${problem}`, field });

/** Neither the server nor the workspace has a tool of this name. */
export const agentToolUnknown = (field: 'tools' | 'externalTools', name: string) =>
  new AppError({
    code: 'bad_request',
    message: `${field}: the server has no tool named "${name.slice(0, 128)}"`,
    field,
  });

export const agentNameTaken = (name: string) =>
  new AppError({
    code: 'conflict',
    message: `An agent named "${name.slice(0, 100)}" already exists. Choose another name.`,
    field: 'name',
  });

export const agentSlugTaken = (slug: string) =>
  new AppError({
    code: 'conflict',
    message: `Another agent already has the slug "${slug}". Choose another slug.`,
    field: 'slug',
  });

/** Another member has changed the agent since the given version. */
export const agentChanged = (version: number) =>
  new AppError({
    code: 'conflict',
    message: `Another member has changed this agent; it is at version ${version} now. Read it again, then repeat your change.`,
    field: 'expectedVersion',
    details: { version },
  });

/** `auto` needs a default agent. */
export const defaultAgentNeeded = () =>
  new AppError({
    code: 'conflict',
    message: 'This is the default agent. Make another agent the default first.',
    field: 'id',
  });

export const tooManyAgents = (limit: number) =>
  new AppError({ code: 'conflict', message: `A workspace can have at most ${limit} agents. Archive one first.` });

/** `auto` was requested in a workspace without agents. */
export const noAgents = () =>
  new AppError({ code: 'no_agents', message: 'No agents configured for auto-routing', field: 'agent' });

/** The version that a job is pinned to does not exist any more: its row was deleted with SQL. */
export const agentGone = () =>
  new AppError({
    code: 'agent_gone',
    message: 'The agent of this job no longer exists. Start a new job with another agent.',
  });
