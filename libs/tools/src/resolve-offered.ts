import type { ToolDefinition } from '#models';

import type { ClientSide } from './client-side.js';
import { sameSchema } from './same-schema.js';
import type { Tool, ToolEffect, ToolRuntime, ToolSort } from './tool.js';
import { toolVersion } from './tool-version.js';

/** A tool as a request names it, in the provider's shape. */
export type AdvertisedTool = ToolDefinition;

/**
 * How a call to an advertised tool is answered: run here, left to the request's client, refused because the request has no
 * client, or refused as not registered.
 */
export type OfferedHandling = 'server' | 'client' | 'clientless' | 'unregistered';

/** A tool the request advertised, and what happens when the model asks for it. */
export interface OfferedTool {
  readonly name: string;
  /** As advertised; this is what the model is shown. */
  readonly definition: ToolDefinition;
  readonly handling: OfferedHandling;
  readonly effect: ToolEffect;
  readonly repeatable: boolean;
  readonly sort: ToolSort;
  /** Fingerprint of what a call to it is a call of: another one later on is another tool. */
  readonly version: string;
}

/** The settings in a request for its tools, besides their definitions. */
export interface OfferTerms {
  /** Its choice by name; `hybrid` by default. */
  readonly runtimes?: Readonly<Record<string, ToolRuntime>>;
  /** Present when clients of the requester may be asked to run tools. */
  readonly client?: ClientSide;
  /** Versions of server tools as they were when the job was accepted; a tool that changed since is refused. */
  readonly pins?: Readonly<Record<string, string>>;
}

/** Where tools are looked up by name. */
export interface ToolSource {
  find(name: string): Tool | undefined;
}

/**
 * What a request's tools mean here. A server tool runs only if its name and parameters equal the registered ones, so that a
 * request cannot show the model another contract than the handler's. Of several with one name the first counts.
 */
export function resolveOffered(
  advertised: readonly AdvertisedTool[],
  source: ToolSource,
  terms: OfferTerms = {},
): readonly OfferedTool[] {
  const offered = new Map<string, OfferedTool>();
  for (const definition of advertised) {
    const { name } = definition.function;
    if (offered.has(name)) continue;
    const tool = source.find(name);
    const handling = handlingOf(definition, tool, terms);
    const isOurs = handling === 'server' && tool !== undefined;
    offered.set(name, {
      name,
      definition,
      handling,
      effect: isOurs ? tool.effect : (own(terms.client?.tools, name)?.effect ?? tool?.effect ?? 'once'),
      repeatable: (tool?.repeatable ?? false) || (handling === 'client' && terms.client?.handedOver !== undefined),
      sort: isOurs ? tool.sort : 'client',
      version: isOurs ? tool.version : versionOf(definition),
    });
  }
  return [...offered.values()];
}

function versionOf({ function: { name, description = '', parameters = { type: 'object' } } }: ToolDefinition): string {
  return toolVersion({ name, description, parameters });
}

function handlingOf(definition: ToolDefinition, tool: Tool | undefined, terms: OfferTerms): OfferedHandling {
  const { name } = definition.function;
  const wanted = own(terms.runtimes, name) ?? 'hybrid';
  const client = terms.client === undefined ? 'clientless' : 'client';
  if (wanted === 'client') return client;
  if (tool === undefined) return wanted === 'server' ? 'unregistered' : client;
  if (!tool.enabled) return 'unregistered';
  if (tool.handler === null || tool.runtime === 'client') return wanted === 'server' ? 'unregistered' : client;
  if ((own(terms.pins, name) ?? tool.version) !== tool.version) return 'unregistered';
  return sameSchema(definition.function.parameters ?? { type: 'object' }, tool.parameters) ? 'server' : 'unregistered';
}

/** A member of its own: a name from outside never reaches a prototype. */
function own<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
