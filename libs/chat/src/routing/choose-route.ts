import { parseJson } from '#platform';

/** A route that a model can choose. */
export interface Choosable {
  /** The id by which the model chooses. */
  readonly id: string;
  readonly name: string;
}

/** The response of a routing model: the arguments of its call, or a text. */
export interface RoutingReply {
  readonly captured: string | null;
  readonly text: string;
}

/** The chosen route, and the reason. */
export interface ChosenWay<Route> {
  readonly route: Route;
  readonly reasoning: string;
}

/**
 * The route that a response chooses; null if it chooses none. A call with invalid arguments chooses none, even if the response has text.
 * Pure.
 */
export function chooseRoute<Route extends Choosable>(
  routes: readonly Route[],
  { captured, text }: RoutingReply,
): ChosenWay<Route> | null {
  if (captured !== null) return fromCall(routes, captured);
  const route = fromText(routes, text.trim().toLowerCase());
  return route === undefined ? null : { route, reasoning: '' };
}

function fromCall<Route extends Choosable>(routes: readonly Route[], captured: string): ChosenWay<Route> | null {
  const args = parse(captured);
  const route = routes.find(({ id }) => id === args['route_id']);
  const reasoning = args['reasoning'];
  return route === undefined ? null : { route, reasoning: typeof reasoning === 'string' ? reasoning : '' };
}

function fromText<Route extends Choosable>(routes: readonly Route[], text: string): Route | undefined {
  if (text === '') return undefined;
  const named =
    routes.find(({ id }) => id.trim().toLowerCase() === text) ??
    routes.find(({ name }) => name.trim().toLowerCase() === text);
  if (named !== undefined) return named;
  const number = (text.match(/\d+/g) ?? []).map(Number).find((k) => k >= 1 && k <= routes.length);
  return number === undefined ? undefined : routes[number - 1];
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = parseJson(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
