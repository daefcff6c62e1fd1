/** In the order in which they are applied: what comes later may name what comes before. */
export const resourceKinds = [
  'policy',
  'tool',
  'mcp-server',
  'agent',
  'workflow',
  'schedule',
  'chat-schedule',
  'syntrix-connection',
  'trigger',
] as const;

export type ResourceKind = (typeof resourceKinds)[number];

export type JsonObject = Readonly<Record<string, unknown>>;

/** What a file of the folder asks for. */
export interface Resource {
  readonly kind: ResourceKind;
  /** By which the server finds it again: a slug, a name, a document's id. Empty for the policy, of which there is one. */
  readonly key: string;
  /** Below the folder, for messages. */
  readonly file: string;
  readonly value: JsonObject;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
