// Fails when folders of a lib, app or package import each other in a circle. A file at the root of `src` counts as a folder of its own.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

import ts from 'typescript';

const roots = globSync(['libs/*/src', 'apps/*/src', 'packages/*/src']);
const circles = roots.flatMap((root) => {
  const files = globSync(`${root}/**/*.ts`).filter((file) => !/spec\.ts$|\/generated\//.test(file));
  const imports = new Map(files.map((file) => [nodeOf(root, file), new Set()]));
  for (const file of files)
    for (const { fileName } of ts.preProcessFile(readFileSync(file, 'utf8')).importedFiles) {
      if (!fileName.startsWith('.')) continue;
      const target = nodeOf(root, join(dirname(file), fileName.replace(/\.js$/, '.ts')));
      if (imports.has(target)) imports.get(nodeOf(root, file)).add(target);
    }
  for (const [node, targets] of imports) targets.delete(node);
  return circlesOf(imports).map((nodes) => `${root}: ${nodes.join(', ')}`);
});
if (circles.length > 0) {
  console.error(`Folders that import each other in a circle:\n  ${circles.join('\n  ')}`);
  console.error('Move a file to the folder whose imports it shares, or move what both need into a folder below them.');
  process.exit(1);
}

function nodeOf(root, file) {
  return relative(root, file).split(sep)[0];
}

/** Removes nodes that import nothing, or that nothing imports, until only circles and the paths between them are left. */
function circlesOf(imports) {
  const left = new Map(imports);
  let before;
  do {
    before = left.size;
    for (const [node, targets] of left) {
      const isImported = [...left.values()].some((others) => others.has(node));
      const doesImport = [...targets].some((target) => left.has(target));
      if (!isImported || !doesImport) left.delete(node);
    }
  } while (left.size < before);
  return left.size > 0 ? [[...left.keys()]] : [];
}
