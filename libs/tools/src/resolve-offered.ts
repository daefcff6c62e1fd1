import type { ToolDefinition } from '#models';

import { canonicalJson } from './canonical-json.js';
import type { ClientSide } from './client-side.js';
import type { JsonSchema, Tool, ToolEffect, ToolRuntime, ToolSort } from './tool.js';
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

// Keywords that tell a reader something and constrain nothing.
const ANNOTATIONS = new Set(['$schema', '$comment', 'title', 'description', 'examples', 'default', 'deprecated']);
// Their members are names of the author's choosing, not keywords.
const NAME_MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
// Their values are data, not schemas.
const DATA = new Set(['enum', 'const']);

/** Whether two JSON Schemas demand the same, as written; annotations, empty keywords, the order of members
 * and whether unknown members are allowed do not count. */
function sameSchema(a: JsonSchema, b: JsonSchema): boolean {
  try {
    return canonicalJson(demandsOf(a)) === canonicalJson(demandsOf(b));
  } catch {
    return false; // nested too deep to be one of ours
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

/** What authors add or leave out without meaning anything by it. */
function isEmptyDemand(keyword: string, value: unknown): boolean {
  if (keyword === 'additionalProperties') return value === true || value === false;
  return (keyword === 'required' && Array.isArray(value) && value.length === 0) || isEmptyProperties(keyword, value);
}

function isEmptyProperties(keyword: string, value: unknown): boolean {
  return keyword === 'properties' && typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
