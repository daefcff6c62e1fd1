import {
  SaveSyntrixConnectionDocument,
  type SaveSyntrixConnectionMutationVariables,
  SaveTriggerDocument,
  ValidateTriggerDocument,
} from '@nightshift/client/operations';

import type { Comparison } from './comparison.js';
import { assertAccepted } from './refusal.js';
import { isObject, type JsonObject, type Resource } from './resource.js';
import { type ServerState, withoutNulls } from './server-state.js';

/** `database/triggerId`, by which a workspace knows a trigger. */
export function triggerKey({ database, tenant, triggerId }: JsonObject): string {
  const name = [database, tenant, 'default'].find((given) => typeof given === 'string');
  return `${name ?? ''}/${String(triggerId)}`;
}

/** The server fills in the defaults of both, so that `1s` and 1,000 ms are equal. `enabled` is not a part of the definition. */
export async function compareTrigger(state: ServerState, resource: Resource): Promise<Comparison> {
  const { client } = state;
  const { enabled = true, ...definition } = resource.value;
  const { validateTrigger } = await client.query(ValidateTriggerDocument, { definition });
  assertAccepted(resource, validateTrigger);
  const found = (await state.triggers()).find(
    (trigger) => isObject(trigger.definition) && triggerKey(trigger.definition) === resource.key,
  );
  return {
    current: found === undefined ? null : { ...objectOf(found.definition), enabled: found.enabled },
    desired: { ...objectOf(validateTrigger.definition), enabled },
    save: async () => {
      const input = { definition, enabled: enabled !== false };
      assertAccepted(resource, (await client.mutate(SaveTriggerDocument, { input })).saveTrigger);
    },
  };
}

const connectionDefaults = {
  ...{ baseUrl: 'http://localhost:8080', apiStyle: 'V1', database: 'default', auth: 'NONE', tools: [] },
  ...{ toolCollection: 'toolcall', maxToolCalls: 5, maxToolCallsScope: 'HISTORY' },
} as const;

export async function compareSyntrixConnection(state: ServerState, resource: Resource): Promise<Comparison> {
  const { value, key } = resource;
  const found = (await state.syntrixConnections()).find(({ name }) => name === key);
  return {
    current: found === undefined ? null : withoutNulls({ ...found }),
    desired: { ...connectionDefaults, ...withoutNulls(value), name: key },
    save: async () => {
      // The server checks each field.
      const input = { ...withoutNulls(value), name: key } as unknown as SaveSyntrixConnectionMutationVariables['input'];
      const { saveSyntrixConnection } = await state.client.mutate(SaveSyntrixConnectionDocument, { input });
      assertAccepted(resource, saveSyntrixConnection);
    },
  };
}

function objectOf(value: unknown): JsonObject {
  if (isObject(value)) return value;
  throw new Error('the server returned no object');
}
