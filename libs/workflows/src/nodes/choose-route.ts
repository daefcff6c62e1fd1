import type { Route } from '../definition/edge-lookup.js';
import { memberOf } from '../definition/json.js';

/** What a router's model said: the arguments of its call, or a text. */
export interface RouterReply {
  readonly captured: string | null;
  readonly text: string;
}

/** The route that a reply means; null: none. A call with wrong arguments means none, whatever is said beside it. */
export function chooseRoute(
  routes: readonly Route[],
  { captured, text }: RouterReply,
): { readonly route: Route; readonly reasoning: string } | null {
  if (captured !== null) return fromCall(routes, captured);
  const route = fromText(routes, text.trim().toLowerCase());
  return route === undefined ? null : { route, reasoning: '' };
}

function fromCall(routes: readonly Route[], captured: string): ReturnType<typeof chooseRoute> {
  const args = parse(captured);
  const route = routes.find(({ id }) => id === memberOf(args, 'route_id'));
  const reasoning = memberOf(args, 'reasoning');
  return route === undefined ? null : { route, reasoning: typeof reasoning === 'string' ? reasoning : '' };
}

function fromText(routes: readonly Route[], text: string): Route | undefined {
  if (text === '') return undefined;
  const named =
    routes.find(({ id }) => id.trim().toLowerCase() === text) ??
    routes.find(({ name }) => name.trim().toLowerCase() === text);
  if (named !== undefined) return named;
  const number = (text.match(/\d+/g) ?? []).map(Number).find((k) => k >= 1 && k <= routes.length);
  return number === undefined ? undefined : routes[number - 1];
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
