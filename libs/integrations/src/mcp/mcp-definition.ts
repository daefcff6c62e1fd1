import { createHash } from 'node:crypto';

import { LRUCache } from 'lru-cache';

import { toStorable } from '#platform';
import { assertSchema, canonicalJson, type JsonSchema } from '#tools';

/** A server's hints about a tool. The server may be wrong: nothing verifies them. */
export interface McpAnnotations {
  readonly readOnlyHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly [hint: string]: unknown;
}

/**
 * The definition that a person accepts: the text that the model reads, and the fields that decide how the tool is called and its result is
 * read.
 */
export interface McpDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: McpAnnotations;
}

/** A tool in the list of a server. */
export interface ListedTool {
  /** For a definition larger than `MAX_DEFINITION_BYTES`, only the name; the hash covers the complete definition. */
  readonly definition: McpDefinition;
  /** SHA-256 of the canonical JSON of the definition, hexadecimal. */
  readonly hash: string;
}

/** The definition of a tool, by its hash. */
export interface McpListedHash {
  readonly name: string;
  readonly hash: string;
}

/** Maximum size of the definition of one tool, as JSON bytes. */
export const MAX_DEFINITION_BYTES = 65_536;
const MAX_NAME_LENGTH = 128;

/**
 * Parses a tool of a listing. Members that do not belong to a definition (`_meta`, `icons`) are left out. Returns null if the tool cannot be
 * stored: it has no valid name, or values that Postgres rejects.
 */
export function toListedTool(tool: Readonly<Record<string, unknown>>): ListedTool | null {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME_LENGTH) return null;
  try {
    const stored = toStorable({ name, title, description, inputSchema, outputSchema, annotations });
    const text = canonicalJson(stored);
    const hash = createHash('sha256').update(text).digest('hex');
    if (Buffer.byteLength(text) > MAX_DEFINITION_BYTES) return { definition: { name, inputSchema: {} }, hash };
    return { definition: stored as unknown as McpDefinition, hash }; // the schema of the protocol has validated the members
  } catch {
    return null;
  }
}

/** By hash: equal definitions are equally usable, in any workspace. */
const problems = new LRUCache<string, { readonly problem: string | null }>({ max: 10_000 });

/** Why a tool with this definition cannot be offered; null: it can. Cached, because a schema is slow to check. */
export function problemOf({ hash, definition }: Pick<ListedTool, 'hash' | 'definition'>): string | null {
  const known = problems.get(hash);
  if (known !== undefined) return known.problem;
  const problem = problemOfDefinition(definition);
  problems.set(hash, { problem });
  return problem;
}

function problemOfDefinition(definition: McpDefinition): string | null {
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

/** The description for the model if the server sends none. */
export function descriptionOf(definition: McpDefinition, server: string): string {
  const text = [definition.description, definition.title].find(
    (candidate) => candidate !== undefined && candidate.trim() !== '',
  );
  return text ?? `The tool ${definition.name} of the MCP server ${server}.`;
}
