import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const [, section = ''] = read('ARCHITECTURE.md').split('## Walk through the code');
const walks = [...(section.split('\n## ')[0] ?? '').matchAll(/^\*\*(.+)\*\* \(at most (\d+) files\)\n([^*]+)/gm)].map(
  ([, title = '', most, table = '']) => ({
    title,
    most: Number(most),
    files: [...table.matchAll(/`([^`]+\.ts)`/g)].map(([, file = '']) => file),
  }),
);

/** The files that a file imports: relative ones by their path, those of another lib by the exported names. */
function importsOf(file: string): { readonly files: readonly string[]; readonly names: ReadonlySet<string> } {
  const statements = [...read(file).matchAll(/import\s+(?:type\s+)?(?:\{([^}]*)\}|\w+)?[^']*?from '([^']+)'/g)];
  const files = statements
    .filter(([, , from = '']) => from.startsWith('.'))
    .map(([, , from = '']) => normalize(join(dirname(file), from)).replace(/\.js$/, '.ts'));
  const names = statements
    .filter(([, , from = '']) => from.startsWith('#'))
    .flatMap(([, list = '']) => list.split(',').map((name) => name.trim().replace(/^type /, '')));
  return { files, names: new Set(names) };
}

function exportsOf(file: string): readonly string[] {
  return [
    ...read(file).matchAll(/^export (?:abstract )?(?:async )?(?:class|function|const|interface|type) (\w+)/gm),
  ].map(([, name = '']) => name);
}

function doesImport(from: string, to: string): boolean {
  const { files, names } = importsOf(from);
  return files.includes(to) || exportsOf(to).some((name) => names.has(name));
}

/** The files that no import connects to the rest of their walk. */
function unconnected(files: readonly string[]): readonly string[] {
  const reached = new Set(files.slice(0, 1));
  for (let before = 0; before !== reached.size;) {
    before = reached.size;
    for (const file of files)
      if ([...reached].some((other) => doesImport(other, file) || doesImport(file, other))) reached.add(file);
  }
  return files.filter((file) => !reached.has(file));
}

describe('the walks of ARCHITECTURE.md', () => {
  it('describe a chat, an approval and a workflow', () => {
    expect(walks.map(({ title }) => title)).toEqual([
      'A chat message becomes a delta',
      'A person approves a tool call',
      'A workflow runs an agent node',
    ]);
  });

  it.each(walks)(
    'name existing files, each once, and no more than a reader has time for: $title',
    ({ files, most }) => {
      expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
      expect(new Set(files).size).toBe(files.length);
      expect(files.length).toBeLessThanOrEqual(most);
    },
  );

  it.each(walks)('name files that imports connect: $title', ({ files }) => {
    expect(unconnected(files)).toEqual([]);
  });
});
