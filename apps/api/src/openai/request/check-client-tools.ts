import type { ToolDefinition } from '#models';

import { invalidBody } from './invalid-body.js';

/** Limits of the functions in a request. Only their count and size are checked, so the cost is linear in the body. */
const most = { tools: 128, chars: 262_144 } as const;

const nameShape = /^[A-Za-z0-9_.-]{1,64}$/;

/**
 * Rejects functions that no provider accepts. Their schemas are passed to the provider unchanged: the client that sent them reads
 * the arguments; the server does not. Throws `OpenAiError` 400. Pure.
 */
export function checkClientTools(tools: readonly ToolDefinition[]): void {
  if (tools.length > most.tools) throw invalidBody(`tools: at most ${most.tools} functions fit in a request`);
  const names = new Set<string>();
  let chars = 0;
  for (const [index, definition] of tools.entries()) {
    const { name } = definition.function;
    const field = `tools[${index}].function.name`;
    if (!nameShape.test(name)) throw invalidBody(`${field}: a name is 1 to 64 of letters, digits, "_", "-" and "."`);
    if (names.has(name)) throw invalidBody(`${field}: "${name}" is the name of an earlier function`);
    names.add(name);
    chars += JSON.stringify(definition).length;
    if (chars > most.chars) throw invalidBody(`tools: they are longer than ${most.chars} characters together`);
  }
}
