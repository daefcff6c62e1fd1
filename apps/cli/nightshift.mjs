#!/usr/bin/env node
// The command of a checkout (`npx nightshift`): compiles on its first run, then is dist/apps/cli/main.js.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const LEAST_NODE = 22;
const main = new URL('../../dist/apps/cli/main.js', import.meta.url);

if (Number(process.versions.node.split('.')[0]) < LEAST_NODE) {
  process.stderr.write(
    `nightshift needs Node ${LEAST_NODE} or newer. In its folder, \`npx nightshift\` brings its own.\n`,
  );
  process.exit(2);
}
if (!existsSync(fileURLToPath(main))) {
  const { bootstrap } = await import('../../scripts/bootstrap.mjs');
  await bootstrap({ say: (text) => process.stderr.write(text) });
}
await import(main.href);
