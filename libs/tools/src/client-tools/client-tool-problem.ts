import type { ToolDefinition } from '#models';

import { canonicalJson } from '../canonical-json.js';
import { compileSchema } from '../compile-schema.js';
import { TOOL_NAME } from '../tool.registry.js';

/** What a request may bring along of tools that its clients run. */
export const CLIENT_TOOL_LIMITS = { tools: 128, definitionChars: 65_536, allChars: 262_144 } as const;

/** Why clients cannot be asked to run these tools, in words for who declared them; null: they can. Pure. */
export function clientToolProblem(definitions: readonly ToolDefinition[]): string | null {
  const { tools, allChars } = CLIENT_TOOL_LIMITS;
  if (definitions.length > tools) return `At most ${tools} client tools fit in a request`;
  let chars = 0;
  const names = new Set<string>();
  for (const definition of definitions) {
    const { name } = definition.function;
    if (names.has(name)) return `There are two client tools named "${name.slice(0, 64)}"`;
    const problem = problemOf(definition);
    if (problem !== null) return `Client tool "${name.slice(0, 64)}" cannot be used: ${problem}`;
    names.add(name);
    chars += lengthOf(definition);
  }
  return chars > allChars ? `The client tools of a request are longer than ${allChars} characters together` : null;
}

function problemOf(definition: ToolDefinition): string | null {
  const { name, parameters } = definition.function;
  const { definitionChars } = CLIENT_TOOL_LIMITS;
  if (!TOOL_NAME.test(name)) return 'a name is 1 to 64 of letters, digits, "_", "-" and "."';
  if (lengthOf(definition) > definitionChars) return `it is longer than ${definitionChars} characters`;
  if (parameters === undefined) return null;
  if ((parameters['type'] ?? 'object') !== 'object') return 'its parameters are not an object schema';
  try {
    compileSchema(parameters);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message.replace(/\.$/, '') : 'its schema does not compile';
  }
}

function lengthOf(definition: ToolDefinition): number {
  return canonicalJson(definition).length;
}
