#!/usr/bin/env node
// The command `nightshift` of the installed package and of a checkout (`npx nightshift`). It starts on Node 20, too: if that is too old for
// the product, dist/apps/cli/main.js runs on the Node that npm has installed with the package. A checkout compiles on its first run.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const main = join(root, 'dist', 'apps', 'cli', 'main.js');

if (!existsSync(main)) {
  const { bootstrap } = await import('../../scripts/bootstrap.mjs');
  await bootstrap({ say: (text) => process.stderr.write(text) });
}
const least = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).engines.node.replace('>=', '');
const installed = installedNode();
if (isAtLeast(process.versions.node, least)) await import(new URL('../../dist/apps/cli/main.js', import.meta.url).href);
else if (installed !== null) runOn(installed);
else {
  process.stderr.write(
    `nightshift needs Node ${least} or newer; this is Node ${process.versions.node}. Install a newer one, or install the package with optional dependencies, which include Node.\n`,
  );
  process.exitCode = 2;
}

/** The binary of the optional dependency for this platform, or null. */
function installedNode() {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  try {
    const manifest = createRequire(import.meta.url).resolve(`node-${platform}-${process.arch}/package.json`);
    return join(dirname(manifest), 'bin', platform === 'win' ? 'node.exe' : 'node');
  } catch {
    return null;
  }
}

function isAtLeast(version, wanted) {
  const [major, minor] = version.split('.').map(Number);
  const [wantedMajor, wantedMinor = 0] = wanted.split('.').map(Number);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

/** Signals reach the child, and this process ends as the child did. */
function runOn(node) {
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.once('error', (error) => {
    process.stderr.write(`nightshift could not run ${node}: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.once('exit', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal];
  });
}
