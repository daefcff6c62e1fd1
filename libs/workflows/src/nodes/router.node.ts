import { chooseRoute, routingRequest } from '#chat';

import { type Route, routesOf } from '../definition/edge-lookup.js';
import type { NodeOutcome } from '../engine/node-executor.js';
import type { ChosenRoute } from '../engine/node-run.js';
import { userMessageWithImages } from './attachments.js';
import { type ContextOf, defineNode } from './define-node.js';
import { handOn } from './settlements.js';
import { refusal } from './to-node-error.js';
import { withPerson } from './with-person.js';

/** A model chooses the route. The router's input is passed on unchanged. */
export const routerNode = defineNode({
  type: 'router',
  run: (context) => {
    const routes = routesOf(context.graph, context.node.id);
    const [first] = routes;
    if (first === undefined) throw refusal('Router node has no routes defined');
    return withPerson(context, context.node.data.hitl, {
      work: (input, rejections) => route(context, { routes: [first, ...routes.slice(1)], input, rejections }),
      onward: routes.map(({ id }) => id),
    });
  },
});

interface Routing {
  readonly routes: readonly [Route, ...Route[]];
  readonly input: string;
  readonly rejections: number;
}

async function route(context: ContextOf<'router'>, { routes, input, rejections }: Routing): Promise<NodeOutcome> {
  const { node, ports, signal } = context;
  const model = node.data.model ?? null;
  const { system, ...asked } = routingRequest(routes, node.data.prompt);
  const conversed = await ports.converse({
    ...(rejections === 0 ? {} : { branch: `review@${rejections}` }),
    isShown: false,
    model,
    messages: [{ role: 'system', content: system }, await userMessageWithImages(context, input, model)],
    tools: [],
    ...asked,
    maxIterations: 1,
    signal,
  });
  if (conversed.type === 'waiting') return conversed;
  const captured = conversed.type === 'answered' ? conversed.captured : null;
  const chosen = chooseRoute(routes, { captured, text: conversed.text });
  if (chosen !== null) return taken(context, input, { ...chosen, fallbackUsed: false });
  return notChosen(context, routes, input);
}

/** The model's response names no route. */
function notChosen(context: ContextOf<'router'>, routes: Routing['routes'], input: string): NodeOutcome {
  const { node, ports } = context;
  switch (node.data.fallbackBehavior) {
    case 'first':
      ports.warn('ROUTER_FALLBACK', `Router "${node.id}" chose no route and takes the first one.`);
      return taken(context, input, { route: routes[0], reasoning: '', fallbackUsed: true });
    case 'error':
      throw refusal(`Router "${node.id}" failed to select a valid route.`);
    case 'none':
      return handOn('Router failed to select a route', []);
  }
}

type Choice = Pick<ChosenRoute, 'reasoning' | 'fallbackUsed'> & { readonly route: Route };

function taken({ graph }: ContextOf<'router'>, input: string, choice: Choice): NodeOutcome {
  const { route: chosen, reasoning, fallbackUsed } = choice;
  const output = graph.routerEcho ? `Routed to ${chosen.name}` : input;
  return handOn(output, [chosen.id], {
    route: {
      selectedRoute: chosen.id,
      selectedNodeId: chosen.edge.target,
      selectedName: chosen.name,
      reasoning,
      fallbackUsed,
    },
  });
}
