// Fails when folders of a lib, app or package import each other in a circle. A folder is the files directly in it: a nested folder is another
// one. The imports of `*.module.ts` and `index.ts` do not count: they only connect and export the files of all folders below them.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

import ts from 'typescript';

const roots = globSync(['libs/*/src', 'apps/*/src', 'packages/*/src']);
const circles = roots.flatMap((root) =>
  circlesOf(importsOf(root)).map(
    (folders) => `${root}: ${folders.map((folder) => relative(root, folder) || '.').join(', ')}`,
  ),
);
if (circles.length > 0) {
  console.error(`Folders that import each other in a circle:\n  ${circles.join('\n  ')}`);
  console.error('Move a file to the folder whose imports it shares, or move what both need into a folder below them.');
  process.exit(1);
}

/** The folders that the files of each folder import. */
function importsOf(root) {
  const files = globSync(`${root}/**/*.ts`).filter((file) => !/spec\.ts$|\/generated\//.test(file));
  const imports = new Map(files.map((file) => [dirname(file), new Set()]));
  for (const file of files.filter((file) => !/\.module\.ts$|\/index\.ts$/.test(file)))
    for (const { fileName } of ts.preProcessFile(readFileSync(file, 'utf8')).importedFiles) {
      const target = dirname(join(dirname(file), fileName));
      if (fileName.startsWith('.') && target !== dirname(file) && imports.has(target))
        imports.get(dirname(file)).add(target);
    }
  return imports;
}

/** The folders that reach each other: the strongly connected components of more than one folder. */
function circlesOf(imports) {
  const reached = new Map([...imports.keys()].map((folder) => [folder, reachedFrom(folder, imports)]));
  const circles = [...imports.keys()].map((folder) =>
    [...reached.get(folder)].filter((other) => reached.get(other).has(folder)).sort(),
  );
  return circles.filter((folders, at) => folders.length > 1 && folders[0] === [...imports.keys()][at]);
}

function reachedFrom(folder, imports) {
  const reached = new Set();
  const next = [...imports.get(folder)];
  for (let at = next.pop(); at !== undefined; at = next.pop()) {
    if (reached.has(at)) continue;
    reached.add(at);
    next.push(...imports.get(at));
  }
  return reached;
}
