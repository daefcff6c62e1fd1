import type { ModelParameters, ToolChoice, ToolDefinition } from '#models';

import type { Choosable } from './choose-route.js';

/** A route with the description that the model reads. */
export interface DescribedRoute extends Choosable {
  readonly description: string | null;
}

/** The request by which a model chooses a route for the user's message: the system prompt, and the tool whose call is the response. */
export interface RoutingRequest {
  readonly system: string;
  readonly capture: ToolDefinition;
  readonly toolChoice: ToolChoice;
  readonly parameters: ModelParameters;
}

/** `rules`: instructions of the workflow's author for the choice; may be empty. Pure. */
export function routingRequest(routes: readonly DescribedRoute[], rules: string): RoutingRequest {
  return {
    system: systemText(routes, rules),
    capture: selectRoute(routes),
    toolChoice: { type: 'function', function: { name: 'select_route' } },
    parameters: { temperature: 0, max_tokens: 100 },
  };
}

function systemText(routes: readonly DescribedRoute[], rules: string): string {
  const list = routes.map(({ id, name, description }, index) =>
    [`${index + 1}. ${name} (id: ${id})`, ...(description === null ? [] : [`   ${description}`])].join('\n'),
  );
  return [
    "Choose the route that fits the user's message best, with the tool select_route.",
    `Routes:\n${list.join('\n')}`,
    ...(rules.trim() === '' ? [] : [`Rules:\n${rules}`]),
  ].join('\n\n');
}

function selectRoute(routes: readonly Choosable[]): ToolDefinition {
  return {
    type: 'function',
    function: {
      name: 'select_route',
      description: 'Takes a route.',
      parameters: {
        type: 'object',
        properties: {
          route_id: { type: 'string', enum: [...new Set(routes.map(({ id }) => id))], description: 'Id of the route' },
          reasoning: { type: 'string', description: 'Why this one, in a sentence' },
        },
        required: ['route_id', 'reasoning'],
      },
    },
  };
}
