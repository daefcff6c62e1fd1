import type { ToolEffect } from '#tools';

import type { McpDefinition } from './mcp-definition.js';
import type { McpSettings } from './mcp-server.js';

const strictness: Readonly<Record<ToolEffect, number>> = { pure: 0, idempotent: 1, once: 2 };

/**
 * What calling a tool twice would do. Its accepted hints say so: `readOnlyHint` is pure, `idempotentHint` idempotent, else once.
 * What the settings say for the tool, or else for the server, counts when it is stricter; when it is not, only on a server
 * that is trusted by name.
 */
export function effectOf(
  definition: Pick<McpDefinition, 'name' | 'annotations'>,
  settings: Pick<McpSettings, 'effect' | 'effects' | 'trusted'>,
): ToolEffect {
  const { name, annotations } = definition;
  const hinted: ToolEffect =
    annotations?.readOnlyHint === true ? 'pure' : annotations?.idempotentHint === true ? 'idempotent' : 'once';
  const own = Object.hasOwn(settings.effects, name) ? settings.effects[name] : undefined;
  const wanted = own ?? settings.effect ?? hinted;
  return settings.trusted || strictness[wanted] > strictness[hinted] ? wanted : hinted;
}
