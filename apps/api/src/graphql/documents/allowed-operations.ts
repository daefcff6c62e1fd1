import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { type DocumentNode, parse, print, separateOperations } from 'graphql';
import { z } from 'zod';

/** The manifest that `@apollo/generate-persisted-query-manifest` writes. */
const manifest = z.object({ operations: z.array(z.object({ id: z.string(), body: z.string() })).min(1) });
/** The format that graphql-codegen (`persisted-documents.json`) and Relay write. */
const documentsById = z.record(z.string(), z.string());

/** The operations that an operator allows, read from a file. Comparing documents ignores white space, comments and the order of fragments. */
export class AllowedOperations {
  private readonly byId = new Map<string, string>();
  private readonly known = new Set<string>();

  /** Throws an error that names the file when it cannot be read or has no operation. */
  static read(file: string): AllowedOperations {
    try {
      return new AllowedOperations(readFileSync(file, 'utf8'));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`GRAPHQL_ALLOWED_OPERATIONS: ${file} is not a list of operations: ${why}`, { cause: error });
    }
  }

  /** Throws when a document is not valid GraphQL, or the text contains no document. */
  constructor(text: string) {
    for (const [id, body] of documentsOf(text)) {
      this.known.add(normalize(parse(body)));
      this.byId.set(createHash('sha256').update(body).digest('hex'), body);
      if (id !== null) this.byId.set(id, body);
    }
    if (this.known.size === 0) throw new Error('it has no operation');
  }

  has(document: DocumentNode): boolean {
    return this.known.has(normalize(document));
  }

  /** The document with this id: the id in the file, or the SHA-256 of the text. */
  get(id: string): string | undefined {
    return this.byId.get(id);
  }
}

/** Documents with their ids; GraphQL text has none. */
function documentsOf(text: string): (readonly [string | null, string])[] {
  if (!/^\s*\{\s*"/.test(text))
    return Object.values(separateOperations(parse(text))).map((document) => [null, print(document)] as const);
  const json: unknown = JSON.parse(text);
  const read = manifest.safeParse(json);
  if (read.success) return read.data.operations.map(({ id, body }) => [id, body] as const);
  return Object.entries(documentsById.parse(json));
}

function normalize({ definitions }: DocumentNode): string {
  return definitions
    .map((definition) => print(definition))
    .sort()
    .join('\n');
}
