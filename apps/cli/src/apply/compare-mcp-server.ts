import {
  type McpServersQuery,
  RegisterMcpServerDocument,
  type RegisterMcpServerMutationVariables,
} from '@nightshift/client/operations';

import type { Comparison } from './comparison.js';
import { assertAccepted, mayNotRead } from './refusal.js';
import { isObject, type JsonObject, type Resource } from './resource.js';
import type { ServerState } from './server-state.js';

type Settings = NonNullable<McpServersQuery['mcpServers']['nodes'][number]['settings']>;

/** Fields that the file leaves out stay as they are: only those that it has are compared. No file accepts tools: a person reviews them. */
export async function compareMcpServer(state: ServerState, resource: Resource): Promise<Comparison> {
  const { value, key } = resource;
  const found = (await state.mcpServers()).find(({ name }) => name === key);
  if (found?.settings === null) throw mayNotRead(resource, 'the settings of MCP servers');
  const desired = byName({ ...value, name: key });
  return {
    current: found === undefined ? null : among(toFields(found, found.settings), desired),
    desired,
    save: async () => {
      // The server checks each field.
      const input = { ...value, name: key, upsert: true } as unknown as RegisterMcpServerMutationVariables['input'];
      assertAccepted(resource, (await state.client.mutate(RegisterMcpServerDocument, { input })).registerMcpServer);
    },
  };
}

/** As a file writes it. */
function toFields(
  { name, enabled }: { readonly name: string; readonly enabled: boolean },
  settings: Settings,
): JsonObject {
  const { url, headers, command, args, env, ...calls } = settings;
  const place = url === null ? { stdio: { command, args, env } } : { http: { url, headers } };
  return byName({ name, enabled, ...place, calls: { ...calls } });
}

/** With lists of headers, variables and effects as objects: the server does not keep their order. */
function byName(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([field, member]) => [field, isObject(member) ? byName(member) : toObject(member)]),
  );
}

function toObject(member: unknown): unknown {
  if (!Array.isArray(member) || !member.every(isObject)) return member;
  return Object.fromEntries(
    member.map(({ name, value, tool, effect }) => [String(name ?? tool), value ?? effect] as const),
  );
}

/** The fields of `current` that are among those of `desired`. */
function among(current: JsonObject, desired: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(current).flatMap(([field, member]) => {
      const wanted = desired[field];
      if (wanted === undefined) return [];
      const isPart = ['http', 'stdio', 'calls'].includes(field) && isObject(member) && isObject(wanted);
      return [[field, isPart ? among(member, wanted) : member] as const];
    }),
  );
}
