import { createHash } from 'node:crypto';

import { toStorable } from '#platform';
import { assertSchema, canonicalJson, type JsonSchema } from '#tools';

/** A server's description of a tool, without effect here. Hints: they are not verified. */
export interface McpAnnotations {
  readonly readOnlyHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly [hint: string]: unknown;
}

/** All that a person accepts when accepting a tool: what the model is shown, and what decides how it is called and read. */
export interface McpDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: McpAnnotations;
}

/** A tool as it was read from a server. */
export interface ListedTool {
  /** A definition larger than `MAX_DEFINITION_BYTES` keeps its name only; the hash is of the whole. */
  readonly definition: McpDefinition;
  /** SHA-256 of the canonical JSON of the definition, hexadecimal. */
  readonly hash: string;
}

/** Which definition of which tool. */
export interface McpListedHash {
  readonly name: string;
  readonly hash: string;
}

/** Most bytes of JSON that one tool's definition may have. */
export const MAX_DEFINITION_BYTES = 65_536;
const LONGEST_NAME = 128;

/**
 * Reads a tool of a listing; members that are not part of a definition (`_meta`, `icons`) are left out. Null when it cannot be
 * kept at all: no usable name, or values that cannot be stored.
 */
export function toListedTool(tool: Readonly<Record<string, unknown>>): ListedTool | null {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  if (typeof name !== 'string' || name === '' || name.length > LONGEST_NAME) return null;
  try {
    const stored = toStorable({ name, title, description, inputSchema, outputSchema, annotations });
    const text = canonicalJson(stored);
    const hash = createHash('sha256').update(text).digest('hex');
    if (Buffer.byteLength(text) > MAX_DEFINITION_BYTES) return { definition: { name, inputSchema: {} }, hash };
    return { definition: stored as unknown as McpDefinition, hash }; // the protocol's schema has checked the members
  } catch {
    return null;
  }
}

/** Why a model cannot be offered a tool with this definition; null: it can. */
export function problemOf(definition: McpDefinition): string | null {
  if (Object.keys(definition.inputSchema).length === 0) {
    return `its definition is larger than ${MAX_DEFINITION_BYTES} bytes or has no input schema`;
  }
  if (definition.inputSchema['type'] !== 'object') return 'its input is not an object schema';
  try {
    assertSchema(definition.inputSchema);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message.replace(/\.$/, '') : 'its input schema does not compile';
  }
}

/** The default description for the model when the server gives none. */
export function descriptionOf(definition: McpDefinition, server: string): string {
  const text = [definition.description, definition.title].find(
    (candidate) => candidate !== undefined && candidate.trim() !== '',
  );
  return text ?? `The tool ${definition.name} of the MCP server ${server}.`;
}
