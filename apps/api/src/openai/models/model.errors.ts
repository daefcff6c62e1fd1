import { OpenAiError } from '../../errors/openai-error.js';

const notFound = (what: string, id: string) =>
  new OpenAiError({
    status: 404,
    message: `${what} '${id.slice(0, 256)}' not found`,
    param: 'model',
    code: 'model_not_found',
  });

/** Absent and forbidden look the same. */
export const modelNotFound = (id: string) => notFound('Model', id);

/** `id` without its prefix. */
export const workflowNotFound = (id: string) => notFound('Workflow', id);

/** `id` without its prefix. */
export const teamNotFound = (id: string) => notFound('Team', id);

/** The workspace has no agent to choose from. */
export const autoWithoutAgents = () =>
  new OpenAiError({ status: 500, message: 'No agents configured for auto-routing' });
