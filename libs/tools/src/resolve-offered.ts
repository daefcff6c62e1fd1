import type { ToolDefinition } from '#models';

import { canonicalJson } from './canonical-json.js';
import type { ClientSide } from './client-side.js';
import type { JsonSchema, Tool, ToolEffect, ToolRuntime, ToolSort } from './tool.js';
import { toolVersion } from './tool-version.js';

/** A tool definition in a request, in the format of the provider. */
export type AdvertisedTool = ToolDefinition;

/**
 * How calls of an advertised tool are handled: the server runs it, a client of the request runs it, it is rejected because the request has no
 * client, or it is rejected as not registered.
 */
export type OfferedHandling = 'server' | 'client' | 'clientless' | 'unregistered';

/** A tool that the request advertised, and how its calls are handled. */
export interface OfferedTool {
  readonly name: string;
  /** The definition in the request, which the model reads. */
  readonly definition: ToolDefinition;
  readonly handling: OfferedHandling;
  readonly effect: ToolEffect;
  readonly repeatable: boolean;
  readonly sort: ToolSort;
  /** The fingerprint of the tool. A later call of a tool with another fingerprint is rejected. */
  readonly version: string;
}

/** The settings in a request for its tools, besides their definitions. */
export interface OfferTerms {
  /** The chosen runtimes by tool name; `hybrid` by default. */
  readonly runtimes?: Readonly<Record<string, ToolRuntime>>;
  /** Present if clients of the requester may run tools. */
  readonly client?: ClientSide;
  /** Versions of server tools when the job was accepted. A tool with another version is rejected. */
  readonly pins?: Readonly<Record<string, string>>;
}

/** A lookup of tools by name. */
export interface ToolSource {
  find(name: string): Tool | undefined;
}

/**
 * Resolves the tools of a request. A server tool runs only if its name and parameters equal those that are registered, so that a request
 * cannot show the model a contract that differs from the handler's. Of several tools with one name, the first counts.
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

/** Reads own members only, so that a name from a request never finds a member of the prototype. */
function own<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}

// Keywords that describe a schema and constrain nothing.
const ANNOTATIONS = new Set(['$schema', '$comment', 'title', 'description', 'examples', 'default', 'deprecated']);
// Keywords whose members have names that the author chose.
const NAME_MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
// Keywords whose values are data, not schemas.
const DATA = new Set(['enum', 'const']);

/**
 * Whether two JSON Schemas accept the same values, compared by their text. Annotations, empty keywords, the order of members and
 * `additionalProperties` do not count.
 */
function sameSchema(a: JsonSchema, b: JsonSchema): boolean {
  try {
    return canonicalJson(demandsOf(a)) === canonicalJson(demandsOf(b));
  } catch {
    return false; // no schema of the server is nested this deep
  }
}

function demandsOf(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(demandsOf);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword, value]) => !ANNOTATIONS.has(keyword) && !isEmptyDemand(keyword, value))
      .map(([keyword, value]) => [keyword, demandOf(keyword, value)]),
  );
}

function demandOf(keyword: string, value: unknown): unknown {
  if (DATA.has(keyword)) return value;
  if (keyword === 'required' && Array.isArray(value)) return value.map(String).sort();
  if (!NAME_MAPS.has(keyword) || typeof value !== 'object' || value === null) return demandsOf(value);
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, demandsOf(schema)]));
}

/** Whether a keyword constrains nothing, so that authors may add or omit it. */
function isEmptyDemand(keyword: string, value: unknown): boolean {
  if (keyword === 'additionalProperties') return value === true || value === false;
  return (keyword === 'required' && Array.isArray(value) && value.length === 0) || isEmptyProperties(keyword, value);
}

function isEmptyProperties(keyword: string, value: unknown): boolean {
  return keyword === 'properties' && typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
