import { createHash } from 'node:crypto';

/**
 * A call of a model, as either side makes it. The texts of a document are written in angle brackets; the words around it in calls of
 * routers, loops and merges are each side's own, and only what is in brackets is kept of them.
 */
export interface ModelCall {
  readonly kind: 'text' | 'route' | 'condition' | 'merge';
  readonly model: string;
  /** `role: text` each. */
  readonly messages: readonly string[];
  readonly temperature: number | null;
  readonly maxTokens: number | null;
  /** By name; of a router's call the ids of its routes. */
  readonly tools: readonly string[];
}

/** A call before it is made comparable. */
export interface RawCall extends Omit<ModelCall, 'kind' | 'messages' | 'tools'> {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools: readonly { readonly function: { readonly name: string; readonly parameters?: unknown } }[];
}

export interface ModelReply {
  readonly text: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: string }[];
  readonly fail?: { readonly message: string; readonly status: number };
}

export interface PersonReply {
  readonly action: 'approve' | 'reject' | 'submit' | 'modify' | 'skip' | 'custom';
  readonly data?: string | Record<string, unknown>;
}

/** Everything outside a workflow; both sides use the same one. */
export interface World {
  /** `raw`: as it was made. */
  readonly reply: (call: ModelCall, raw: RawCall) => ModelReply | Promise<ModelReply>;
  readonly tools?: Readonly<Record<string, (args: unknown) => string>> | undefined;
  /** The answer of a person to a node's request; each is asked with the output that is to be reviewed. */
  readonly person?: (nodeId: string, output: string | undefined) => PersonReply;
  /** Called with what the library takes as the workflow's output. */
  readonly heard?: (text: string) => void;
  /** By id; a definition may name these. */
  readonly subflows?: Readonly<Record<string, object>>;
  readonly input?: string;
}

/** The result of a definition. */
export interface Played {
  readonly success: boolean;
  readonly order: readonly string[];
  readonly outputs: Readonly<Record<string, string>>;
  readonly finalOutput: string;
  readonly session: readonly string[];
  readonly error: string | null;
  /** Nodes as they were begun, those inside of loops and subflows included; the same one in a row counts once. */
  readonly begun: readonly string[];
  readonly calls: readonly ModelCall[];
  readonly asked: readonly { readonly nodeId: string; readonly input: string; readonly workflowName: string }[];
}

export const DEFAULT_MODEL = 'test/default';
export const PROMPT = '<hello>';

export function toCall({ messages, tools, ...rest }: RawCall): ModelCall {
  const [system = '', ...others] = messages.map(({ content }) => (typeof content === 'string' ? content : ''));
  const routes = tools.find(({ function: { name } }) => name === 'select_route');
  if (routes !== undefined) {
    const texts = [`system: ${bracketed(system).toSorted().join('')}`, `user: ${others.join('')}`];
    return { kind: 'route', messages: texts, tools: routeIds(routes.function.parameters), ...rest };
  }
  if (rest.maxTokens === 10) {
    const [text = ''] = others;
    const state = /current iteration: *\d+|initial input|last output/gi;
    const states = [...(text.match(state) ?? []), ...bracketed(text)].map((word) => word.toLowerCase());
    return { kind: 'condition', messages: states, tools: [], ...rest };
  }
  if (system.startsWith('<merge')) {
    return { kind: 'merge', messages: [system, ...bracketed(others.join(''))], tools: [], ...rest };
  }
  const names = tools.map(({ function: { name } }) => name).toSorted();
  return { kind: 'text', messages: messages.map(toShownText), tools: names, ...rest };
}

function bracketed(text: string): readonly string[] {
  return [...new Set(text.match(/<[^<>]*>/g))];
}

function routeIds(parameters: unknown): readonly string[] {
  // The schema that both sides send.
  return (parameters as { properties: { route_id: { enum: string[] } } }).properties.route_id.enum;
}

/** The library sends tool results as system messages and the calls before them as an assistant message. */
function toShownText(message: RawCall['messages'][number], index: number): string {
  const text = toText(message);
  const result = index === 0 ? null : /^system: \[Tool Result: [^\]]*\]\n(.*)$/s.exec(text);
  if (result !== null) return `tool: ${result[1] ?? ''}`;
  return text.replace('assistant: [Calling tools...]', 'assistant: ');
}

export function toText({ role, content }: RawCall['messages'][number]): string {
  return `${role}: ${typeof content === 'string' ? content : content === null ? '' : JSON.stringify(content)}`;
}

/** A number that depends only on the subject. */
export function chance(of: number, ...about: readonly unknown[]): number {
  return createHash('sha1').update(JSON.stringify(about)).digest().readUInt32BE() % of;
}

/** A text that depends only on the subject. */
export function textAbout(...about: readonly unknown[]): string {
  return `<${createHash('sha1').update(JSON.stringify(about)).digest('hex').slice(0, 6)}>`;
}

/** In the library a retried node starts again. */
export function withoutRepeats(nodeIds: readonly string[]): readonly string[] {
  return nodeIds.filter((nodeId, index) => nodeId !== nodeIds[index - 1]);
}
