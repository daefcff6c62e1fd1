import type { ToolDefinition } from '#models';
import { assertSchema, SchemaBudget, TOOL_NAME } from '#tools';

/** Limits of the client tools that one request declares. */
export const CLIENT_TOOL_LIMITS = { tools: 128, definitionChars: 65_536, allChars: 262_144 } as const;

/**
 * Returns why clients cannot run these tools, as a message for the author of the request, or null. It checks count, names and sizes first,
 * then the schemas, which share one budget: 256 KiB of definitions take at most some 100 ms. Validators are compiled later, when a call
 * arrives. Pure.
 */
export function clientToolProblem(definitions: readonly ToolDefinition[]): string | null {
  const { tools, allChars } = CLIENT_TOOL_LIMITS;
  if (definitions.length > tools) return `At most ${tools} client tools fit in a request`;
  let chars = 0;
  const names = new Set<string>();
  for (const definition of definitions) {
    const { name } = definition.function;
    if (names.has(name)) return `There are two client tools named "${name.slice(0, 64)}"`;
    const length = JSON.stringify(definition).length;
    const problem = problemOf(definition, length);
    if (problem !== null) return unusable(name, problem);
    names.add(name);
    chars += length;
    if (chars > allChars) return `The client tools of a request are longer than ${allChars} characters together`;
  }
  return schemaProblem(definitions);
}

function problemOf({ function: { name, parameters } }: ToolDefinition, length: number): string | null {
  const { definitionChars } = CLIENT_TOOL_LIMITS;
  if (!TOOL_NAME.test(name)) return 'a name is 1 to 64 of letters, digits, "_", "-" and "."';
  if (length > definitionChars) return `it is longer than ${definitionChars} characters`;
  return (parameters?.['type'] ?? 'object') === 'object' ? null : 'its parameters are not an object schema';
}

function schemaProblem(definitions: readonly ToolDefinition[]): string | null {
  const budget = new SchemaBudget();
  for (const {
    function: { name, parameters = {} },
  } of definitions) {
    try {
      assertSchema(parameters, budget);
    } catch (error) {
      return unusable(name, error instanceof Error ? error.message.replace(/\.$/, '') : 'its schema does not compile');
    }
  }
  return null;
}

function unusable(name: string, problem: string): string {
  return `Client tool "${name.slice(0, 64)}" cannot be used: ${problem}`;
}
