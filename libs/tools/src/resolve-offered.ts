import type { ToolDefinition } from '#models';

import { sameSchema } from './same-schema.js';
import type { Tool, ToolEffect, ToolRuntime } from './tool.js';

/** A tool as a request names it, in the provider's shape. */
export type AdvertisedTool = ToolDefinition;

/** How a call to an advertised tool is answered: run here, left to the client, or refused as not registered. */
export type OfferedHandling = 'server' | 'client' | 'unregistered';

/** A tool the request advertised, and what happens when the model asks for it. */
export interface OfferedTool {
  readonly name: string;
  /** As advertised; this is what the model is shown. */
  readonly definition: ToolDefinition;
  readonly handling: OfferedHandling;
  readonly effect: ToolEffect;
  readonly repeatable: boolean;
}

/** Where tools are looked up by name. */
export interface ToolSource {
  find(name: string): Tool | undefined;
}

/**
 * What a request's tools mean here. A server tool runs only if its name and parameters equal the registered ones, so that a
 * request cannot show the model another contract than the handler's. `runtimes` is the request's choice by name, `hybrid`
 * where it says nothing. Of several with one name the first counts.
 */
export function resolveOffered(
  advertised: readonly AdvertisedTool[],
  source: ToolSource,
  runtimes: Readonly<Record<string, ToolRuntime>> = {},
): readonly OfferedTool[] {
  const offered = new Map<string, OfferedTool>();
  for (const definition of advertised) {
    const { name } = definition.function;
    if (offered.has(name)) continue;
    const tool = source.find(name);
    const wanted = Object.hasOwn(runtimes, name) ? (runtimes[name] ?? 'hybrid') : 'hybrid';
    const handling = handlingOf(definition, wanted, tool);
    offered.set(name, {
      name,
      definition,
      handling,
      effect: handling === 'server' && tool !== undefined ? tool.effect : 'once',
      repeatable: tool?.repeatable ?? false,
    });
  }
  return [...offered.values()];
}

function handlingOf(definition: ToolDefinition, wanted: ToolRuntime, tool: Tool | undefined): OfferedHandling {
  if (wanted === 'client') return 'client';
  if (tool === undefined) return wanted === 'server' ? 'unregistered' : 'client';
  if (!tool.enabled) return 'unregistered';
  if (tool.handler === null || tool.runtime === 'client') return wanted === 'server' ? 'unregistered' : 'client';
  return sameSchema(definition.function.parameters ?? { type: 'object' }, tool.parameters) ? 'server' : 'unregistered';
}
