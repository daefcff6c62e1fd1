import type { ModelParameters } from '#models';

import { isJsonObject, type JsonObject, memberOf } from '../definition/json.js';
import type { NodeData } from '../definition/node-types.js';

/** What a model call of an agent carries besides its messages and tools. The node's own fields win over `modelRequest`. */
export function agentParameters(data: NodeData['agent']): ModelParameters {
  const { modelRequest, temperature, maxTokens, parallelToolCalls, structuredOutput } = data;
  return {
    ...modelRequest,
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(parallelToolCalls === undefined ? {} : { parallel_tool_calls: parallelToolCalls }),
    ...(structuredOutput === undefined ? {} : { response_format: toResponseFormat(structuredOutput) }),
  };
}

const formats: ReadonlySet<unknown> = new Set(['text', 'json_object', 'json_schema']);

/** A `response_format` as it is; a schema with a name, or a bare one, is wrapped into one. */
function toResponseFormat(wanted: JsonObject): JsonObject {
  if (formats.has(memberOf(wanted, 'type'))) return wanted;
  const schema = memberOf(wanted, 'schema');
  const named = isJsonObject(schema) ? { name: 'output', ...wanted } : { name: 'output', schema: wanted };
  return { type: 'json_schema', json_schema: named };
}
