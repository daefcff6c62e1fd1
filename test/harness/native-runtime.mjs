// The `runtime` of jest.config.mjs: spec files run as modules of Node itself, not of a vm context for each file. A worker process loads the
// product and its packages once, not once for each file, which took two seconds of a core each time. Everything else is Jest's own runner.
import { existsSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const GLOBALS_URL = 'nightshift:jest-globals';
const GLOBALS = ['afterAll', 'afterEach', 'beforeAll', 'beforeEach', 'describe', 'expect', 'it', 'jest', 'test'];
const SYNTAX = {
  supportsDynamicImport: true,
  supportsExportNamespaceFrom: true,
  supportsStaticESM: true,
  supportsTopLevelAwait: true,
};

/** What belongs to the spec file that runs. */
const current = { globals: {}, transformer: undefined, conditions: [] };
/** By file, for the stacks of errors. */
const sourceMaps = new Map();
let imports = 0;

/** `@jest/globals` for modules that outlive the spec file: each function is that of the file which runs when it is called. */
const live = Object.fromEntries(
  GLOBALS.map((name) => [
    name,
    new Proxy(() => undefined, {
      apply: (_target, self, args) => Reflect.apply(current.globals[name], self, args),
      get: (_target, key) => current.globals[name][key],
    }),
  ]),
);
globalThis[Symbol.for(GLOBALS_URL)] = { current, live: { globals: live } };

function resolve(specifier, context, next) {
  if (specifier === '@jest/globals') {
    const run = new URL(context.parentURL).search; // only a spec file has one
    return { url: `${GLOBALS_URL}${run}`, shortCircuit: true };
  }
  const withConditions = { ...context, conditions: [...current.conditions, ...context.conditions] };
  if (/^\.{1,2}\/.*\.js$/.test(specifier) && context.parentURL?.includes('.ts')) {
    const source = specifier.replace(/\.js$/, '.ts');
    if (existsSync(new URL(source, context.parentURL))) return next(source, withConditions);
  }
  return next(specifier, withConditions);
}

function load(url, context, next) {
  if (url.startsWith(GLOBALS_URL)) {
    const from = `globalThis[Symbol.for('${GLOBALS_URL}')].${url === GLOBALS_URL ? 'live' : 'current'}.globals`;
    return { format: 'module', source: `export const { ${GLOBALS.join(', ')} } = ${from};`, shortCircuit: true };
  }
  const path = url.startsWith('file:') ? fileURLToPath(url) : '';
  if (!path.endsWith('.ts') || path.includes('/node_modules/') || current.transformer === undefined)
    return next(url, context);
  const { code, sourceMapPath } = current.transformer.transform(path, SYNTAX);
  if (sourceMapPath) {
    sourceMaps.set(path, sourceMapPath);
    sourceMaps.set(url, sourceMapPath);
  }
  return { format: 'module', source: code, shortCircuit: true };
}

registerHooks({ resolve, load });

class NativeRuntime {
  #environment;

  constructor(_config, environment, _resolver, transformer) {
    this.#environment = environment;
    current.transformer = transformer;
    current.conditions = environment.exportConditions();
  }

  /** Jest's framework, new for each file: it keeps the tests of the file in its module. */
  requireInternalModule(path) {
    delete require.cache[path];
    delete globalThis[Symbol.for('EVENT_HANDLERS')];
    return require(path);
  }

  requireModule(path) {
    return require(path);
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  /** A spec file is new each time; what it imports stays. */
  unstable_importModule(path) {
    return import(`${pathToFileURL(path).href}?${imports++}`);
  }

  setGlobalsForRuntime(globals) {
    current.globals = { ...globals, jest: this.#environment.jest };
  }

  getSourceMaps() {
    return sourceMaps;
  }

  clearAllMocks() {
    this.#environment.moduleMocker.clearAllMocks();
  }

  resetAllMocks() {
    this.#environment.moduleMocker.resetAllMocks();
  }

  restoreAllMocks() {
    this.#environment.moduleMocker.restoreAllMocks();
  }

  resetModules() {}

  getAllCoverageInfoCopy() {}

  enterTestCode() {}

  leaveTestCode() {}

  teardown() {
    this.restoreAllMocks();
  }
}

export { NativeRuntime as default, NativeRuntime as 'module.exports' };
