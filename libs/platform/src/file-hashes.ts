const pattern = /(?:file:|")([0-9a-f]{64})"/g;

/**
 * Each text of a JSON text that can be the hash of a file, alone or after `file:`. The retention of files reads them instead of the
 * JSON, which can have many MiB.
 */
export function fileHashesIn(json: string): string[] {
  return [...new Set(Array.from(json.matchAll(pattern), ([, hash = '']) => hash))];
}
