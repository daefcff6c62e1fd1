import { AppError } from '#platform';

/** Unknown, archived, or of another workspace. */
export const agentNotFound = () => new AppError({ code: 'not_found', message: 'Agent not found', field: 'agent' });

export const agentVersionNotFound = () =>
  new AppError({ code: 'not_found', message: 'Agent version not found', field: 'version' });

/** A member of the input that is wrong in itself. */
export const agentInvalid = (field: string, problem: string) =>
  new AppError({ code: 'bad_request', message: `${field}: ${problem}`, field });

/** Neither the server nor the workspace has a tool of that name. */
export const agentToolUnknown = (field: 'tools' | 'externalTools', name: string) =>
  new AppError({ code: 'bad_request', message: `${field}: there is no tool named "${name.slice(0, 128)}"`, field });

export const agentNameTaken = (name: string) =>
  new AppError({ code: 'conflict', message: `An agent called "${name.slice(0, 100)}" exists already`, field: 'name' });

export const agentSlugTaken = (slug: string) =>
  new AppError({
    code: 'conflict',
    message: `Another agent has the slug "${slug}": give this one its own`,
    field: 'slug',
  });

/** Somebody has changed it in between. */
export const agentChanged = (version: number) =>
  new AppError({
    code: 'conflict',
    message: `The agent was changed by somebody else meanwhile (it is at version ${version}): read it again`,
    field: 'expectedVersion',
    details: { version },
  });

/** `auto` needs somebody to fall back to. */
export const defaultAgentNeeded = () =>
  new AppError({
    code: 'conflict',
    message: 'This is the default agent: make another one the default first',
    field: 'id',
  });

export const tooManyAgents = (limit: number) =>
  new AppError({ code: 'conflict', message: `A workspace can have ${limit} agents: archive one first` });

/** There is nobody to choose among. */
export const noAgents = () =>
  new AppError({ code: 'no_agents', message: 'No agents configured for auto-routing', field: 'agent' });

/** A job's agent was pinned, and its version is gone: somebody has removed rows by hand. */
export const agentGone = () =>
  new AppError({ code: 'agent_gone', message: 'The agent of this job does not exist any more.' });
