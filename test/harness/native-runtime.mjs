// The `runtime` of jest.config.mjs: what spec files import are modules of Node itself, not of a vm context for each file. A worker process
// loads the product and its packages once, not once for each file, which took two seconds of a core each time. A spec file itself is a
// `SourceTextModule`, because Node's loader never unloads a module. Everything else is Jest's own runner.
import { existsSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import vm from 'node:vm';

const require = createRequire(import.meta.url);
const GLOBALS_URL = 'nightshift:jest-globals';
/** Begins the specifier of an import from a `SourceTextModule`: `nightshift:import <URL of the importer> <specifier>`. */
const IMPORT = 'nightshift:import ';
const OF_SPEC_FILE = new RegExp(`^${IMPORT}(\\S+) ([^]*)$`);
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

/** `@jest/globals`: each function delegates to that of the spec file that is running. */
const jestGlobals = Object.fromEntries(
  GLOBALS.map((name) => [
    name,
    new Proxy(() => undefined, {
      apply: (_target, self, args) => Reflect.apply(current.globals[name], self, args),
      get: (_target, key) => current.globals[name][key],
    }),
  ]),
);
globalThis[Symbol.for(GLOBALS_URL)] = jestGlobals;

function resolve(request, context, next) {
  const [, parentURL = context.parentURL, specifier = request] = OF_SPEC_FILE.exec(request) ?? [];
  if (specifier === '@jest/globals') return { url: GLOBALS_URL, shortCircuit: true };
  const asImported = { ...context, parentURL, conditions: [...current.conditions, ...context.conditions] };
  if (/^\.{1,2}\/.*\.js$/.test(specifier) && parentURL?.includes('.ts')) {
    const source = specifier.replace(/\.js$/, '.ts');
    if (existsSync(new URL(source, parentURL))) return next(source, asImported);
  }
  return next(specifier, asImported);
}

function load(url, context, next) {
  if (url === GLOBALS_URL) {
    const source = `export const { ${GLOBALS.join(', ')} } = globalThis[Symbol.for('${GLOBALS_URL}')];`;
    return { format: 'module', source, shortCircuit: true };
  }
  const path = url.startsWith('file:') ? fileURLToPath(url) : '';
  if (!path.endsWith('.ts') || path.includes('/node_modules/') || current.transformer === undefined)
    return next(url, context);
  return { format: 'module', source: compile(url, path), shortCircuit: true };
}

function compile(url, path) {
  const { code, sourceMapPath } = current.transformer.transform(path, SYNTAX);
  if (sourceMapPath) {
    sourceMaps.set(path, sourceMapPath);
    sourceMaps.set(url, sourceMapPath);
  }
  return code;
}

/** Evaluates a file as a module that can be garbage-collected. */
async function evaluate(path) {
  const url = pathToFileURL(path).href;
  const importModuleDynamically = (specifier) => import(`${IMPORT}${url} ${specifier}`);
  const module = new vm.SourceTextModule(compile(url, path), {
    identifier: url,
    importModuleDynamically,
    initializeImportMeta: (meta) => Object.assign(meta, { url, filename: path, dirname: dirname(path) }),
  });
  const imported = new Map();
  for (const { specifier } of module.moduleRequests)
    imported.set(specifier, toSyntheticModule(await importModuleDynamically(specifier))); // one by one, as the order of imports may matter
  await module.link((specifier) => imported.get(specifier));
  await module.evaluate();
}

/** Wraps a loaded module so that a `SourceTextModule` can import it. */
function toSyntheticModule(namespace) {
  const module = new vm.SyntheticModule(Object.keys(namespace), () => {
    for (const name of Object.keys(namespace)) module.setExport(name, namespace[name]);
  });
  return module;
}

if (vm.SourceTextModule === undefined) throw new Error('Run Jest with --experimental-vm-modules, as `npm test` does.');
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

  /** The modules that the file imports stay loaded. */
  unstable_importModule(path) {
    return evaluate(path);
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
