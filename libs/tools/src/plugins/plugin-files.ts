import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

import type { PluginSource } from './find-plugins.js';

/** The files of a plugin, and their hash. */
export interface PluginFiles {
  /** Absolute paths. */
  readonly files: readonly string[];
  /** SHA-256 of names and contents, hexadecimal: equal code has equal hashes in any folder. */
  readonly hash: string;
}

/** `from './x.ts'`, `import './x.ts'`, `import('./x.ts')`. */
const RELATIVE_IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*(['"])(\.{1,2}\/[^'"\n]+)\1/g;

/** The files of a plugin: the entry, the modules that it imports by relative paths, recursively, and the package's manifest. */
export function pluginFiles({ entry, folder }: PluginSource): PluginFiles {
  const contents = new Map<string, Buffer>();
  const read = (file: string): void => {
    if (contents.has(file) || !existsSync(file)) return;
    const content = readFileSync(file);
    contents.set(file, content);
    for (const [, , path = ''] of content.toString('utf8').matchAll(RELATIVE_IMPORT))
      read(resolve(dirname(file), path));
  };
  read(entry);
  if (folder !== null) read(join(folder, 'package.json'));
  const base = folder ?? dirname(entry);
  const hash = createHash('sha256');
  const files = [...contents.keys()].sort();
  for (const file of files) {
    const content = contents.get(file) ?? '';
    hash.update(`${relative(base, file)}\n${content.length}\n`).update(content);
  }
  return { files, hash: hash.digest('hex') };
}
