// `npm run dev`: lets the Nest CLI run the server and restart it when a source file changes, and restarts it as well when a file of a plugin
// changes: in ./plugins and in the places of PLUGINS. Looks at times twice a second, because watchers miss changes in some containers.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseEnv } from 'node:util';

import { pluginFiles } from '../libs/tools/src/plugins/plugin-files.ts';

const everyMs = 500;
const root = process.cwd();
/** The Nest CLI restarts the server when a compiled file changes. */
const compiled = join(root, 'dist', 'apps', 'main.js');
const nest = join(root, 'node_modules', '@nestjs', 'cli', 'bin', 'nest.js');
const skipped = new Set(['node_modules', '.git', '.nightshift']);

const cli = spawn(process.execPath, [nest, 'start', '--watch', '--no-shell', ...process.argv.slice(2)], {
  stdio: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => cli.kill(signal));
cli.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 0 : 1)));

for (let before = times(); ;) {
  await pause(everyMs);
  const now = times();
  const changed = [...new Set([...before.keys(), ...now.keys()])].filter((file) => before.get(file) !== now.get(file));
  before = now;
  if (changed.length > 0 && existsSync(compiled)) await restart(changed);
}

/** The Nest CLI would stop the embedded Postgres at the same time: the server stops by itself, so that running calls end and are stored. */
async function restart(changed) {
  process.stdout.write(`${changed.join(', ')} changed: restarting\n`);
  for (const pid of servers()) stop(pid);
  while (servers().length > 0) await pause(100);
  // Once more after 3 s: at its start the CLI misses changes for a moment.
  for (let polls = 0; servers().length === 0; polls += 1) {
    if (polls % 30 === 0) utimesSync(compiled, new Date(), new Date());
    await pause(100);
  }
}

function stop(pid) {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error; // it has ended meanwhile
  }
}

/** The processes that the Nest CLI has started. */
function servers() {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.flatMap(([pid, parent]) => (parent === cli.pid ? [pid] : []));
}

/** When each file of the plugins was changed. */
function times() {
  const file = join(root, '.env');
  const list =
    process.env.PLUGINS ?? (existsSync(file) ? parseEnv(readFileSync(file, 'utf8')).PLUGINS : undefined) ?? '';
  const places = list.split(',').map((place) => place.trim());
  const found = ['plugins', ...places.filter((place) => place !== '')].flatMap(filesOf);
  return new Map(
    found.flatMap((path) => {
      const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? {};
      return mtimeMs === undefined ? [] : [[path, mtimeMs]];
    }),
  );
}

/** The files of a module and its imports, of a folder, or of an installed package. */
function filesOf(place) {
  const path = resolve(root, place);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile()) return pluginFiles({ entry: path, folder: null }).files;
  if (stat?.isDirectory()) return inFolder(path);
  for (let folder = root; ; folder = dirname(folder)) {
    const installed = join(folder, 'node_modules', place);
    if (existsSync(installed)) return inFolder(installed);
    if (dirname(folder) === folder) return [];
  }
}

function inFolder(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return skipped.has(entry.name) ? [] : inFolder(path);
    return /\.(?:[mc]?[jt]s|json)$/.test(entry.name) ? [path] : [];
  });
}
