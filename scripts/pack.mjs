// `npm run pack [-- FOLDER]`: compiles, and packs the server, the client and the plugin package into FOLDER (`tarballs` without one). Prints the
// command that installs them.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { bootstrap } from './bootstrap.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const folder = resolve(process.argv[2] ?? join(root, 'tarballs'));

await bootstrap();
mkdirSync(folder, { recursive: true });
const npm = process.env.npm_execpath;
const [command, ...first] = npm === undefined ? ['npm'] : [process.execPath, npm];
const packages = ['packages/client', 'packages/plugin'].flatMap((path) => ['--workspace', path]);
const words = [
  'pack',
  '--json',
  '--ignore-scripts',
  '--include-workspace-root',
  ...packages,
  '--pack-destination',
  folder,
];
const packed = JSON.parse(execFileSync(command, [...first, ...words], { cwd: root, encoding: 'utf8' }));
// Absolute: npm takes a relative path such as `tarballs/a.tgz` for a repository of GitHub.
const files = packed.map(({ filename }) => join(folder, filename));
for (const [index, { size, entryCount }] of packed.entries())
  process.stdout.write(`${files[index]}: ${(size / 1e6).toFixed(1)} MB, ${entryCount} files\n`);
process.stdout.write(`\nInstall them together in a folder of your own: npm install ${files.join(' ')}\n`);
