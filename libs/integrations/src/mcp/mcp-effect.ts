import type { ToolEffect } from '#tools';

import type { McpDefinition } from './mcp-definition.js';
import type { McpSettings } from './mcp-server.js';

const strictness: Readonly<Record<ToolEffect, number>> = { pure: 0, idempotent: 1, once: 2 };

/**
 * The effect of repeating a call. The accepted hints determine the default: `readOnlyHint` is pure, `idempotentHint` idempotent, otherwise
 * once. A setting for the tool, or else for the server, replaces the default if it is stricter; a weaker setting applies only to a trusted
 * server.
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
