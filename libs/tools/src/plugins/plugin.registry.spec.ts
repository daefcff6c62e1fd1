import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createLogger, ManualClock, systemClock } from '#platform';

import { eventually } from '../../../../test/harness/eventually.js';
import { findPlugins } from './find-plugins.js';
import { loadPlugin } from './load-plugin.js';
import { PluginRegistry } from './plugin.registry.js';
import { pluginFiles } from './plugin-files.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-plugins-'));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(join(process.cwd(), 'node_modules', '@nightshift'), join(folder, 'node_modules', '@nightshift'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function write(path: string, text: string): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const tool = (name: string) =>
  `defineTool({ name: '${name}', description: 'd', input: { type: 'object' }, execute: () => '${name}' })`;
const module = (body: string) =>
  `import { defineHook, defineNode, definePlugin, defineTool } from '@nightshift/plugin';\n${body}\n`;
const logger = createLogger({ level: 'silent' });
const load = (list: readonly string[] = [], environment: Readonly<Record<string, string>> = {}) =>
  PluginRegistry.load({ list, workingDirectory: folder, withFolder: true, environment, clock: systemClock, logger });
const entries = (list: readonly string[]) =>
  findPlugins({ list, workingDirectory: folder, withFolder: true }).map(({ entry }) => entry.slice(folder.length + 1));

describe('findPlugins', () => {
  it('lists PLUGINS in its order, then modules and packages of ./plugins by name', () => {
    write('node_modules/acme-crm/package.json', '{"exports":{".":{"import":"./lib/main.mjs"}}}');
    write('node_modules/acme-crm/lib/main.mjs', '');
    write('own/b.ts', '');
    for (const path of ['z.js', 'a.mts', 'types.d.ts', 'a.spec.ts', 'notes.md', 'pack/index.ts', 'pack/deeper/c.js'])
      write(`plugins/${path}`, '');
    write('plugins/pack/package.json', '{}');
    write('plugins/plain/d.js', '');
    expect(entries(['own', 'acme-crm', './plugins/z.js'])).toEqual([
      'own/b.ts',
      'node_modules/acme-crm/lib/main.mjs',
      'plugins/z.js',
      'plugins/a.mts',
      'plugins/pack/index.ts',
    ]);
  });

  it('refuses a path that does not exist and a package that is not installed', () => {
    expect(() => entries(['./gone.ts'])).toThrow(`The plugin ${join(folder, 'gone.ts')} cannot be loaded: it does not`);
    expect(() => entries(['acme-gone'])).toThrow(
      'The plugin acme-gone cannot be loaded: neither a file or folder nor an installed package has this name',
    );
  });
});

describe('pluginFiles', () => {
  it('hashes the modules that the entry imports by relative paths, wherever the folder is', () => {
    const entry = write('one/main.mjs', "import { a } from './a.mjs';\nimport('pg');\n");
    write('one/a.mjs', "export { b as a } from './lib/b.mjs';\n");
    write('one/lib/b.mjs', 'export const b = 1;\n');
    const source = { entry, folder: null, name: 'one', version: null };
    const { files, hash } = pluginFiles(source);
    expect(files.map((file) => file.slice(folder.length + 1))).toEqual(['one/a.mjs', 'one/lib/b.mjs', 'one/main.mjs']);
    write('one/lib/b.mjs', 'export const b = 2;\n');
    expect(pluginFiles(source).hash).not.toBe(hash);
  });
});

describe('PluginRegistry', () => {
  it('loads plugins with and without definePlugin', async () => {
    write(
      'plugins/a.mjs',
      module(`export const hidden = ${tool('hidden')};
export default definePlugin({ name: 'acme', version: '1.2.3', secrets: ['KEY'], tools: [${tool('shown')}],
  hooks: [defineHook({ on: 'beforeToolCall', name: 'guard', run: () => undefined })],
  nodes: [defineNode({ type: 'acme.score', title: 'Score', input: { type: 'object' }, run: () => 1 })] });`),
    );
    write('plugins/b.mjs', module(`export const one = ${tool('one')}; export const text = 'no definition';`));
    const registry = await load();
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(registry.shown()).toEqual([
      { name: 'acme', version: '1.2.3', hash, tools: ['shown'], hooks: ['guard'], nodes: ['acme.score'] },
      { name: 'b', version: '0.0.0', hash, tools: ['one'], hooks: [], nodes: [] },
    ]);
    expect(registry.hooks.map(({ plugin, hook }) => [plugin.name, hook.name])).toEqual([['acme', 'guard']]);
    expect(registry.nodes.map(({ plugin, node }) => [plugin.name, node.type])).toEqual([['acme', 'acme.score']]);
  });

  it('passes the variables of the plugin without their prefix to setup, and calls close at the end', async () => {
    write(
      'plugins/a.mjs',
      module(`export const seen = { tools: [] };
export default definePlugin({ name: '@acme/crm', version: '1', tools: [${tool('crm')}],
  setup({ config }) { globalThis.nightshiftSeen = JSON.stringify(config); }, close() { globalThis.nightshiftSeen = 'closed'; } });`),
    );
    const registry = await load([], { PLUGIN_ACME_CRM_URL: 'http://crm.example', PLUGIN_OTHER_URL: 'x' });
    const seen = () => (globalThis as { nightshiftSeen?: string }).nightshiftSeen; // set by the plugin above
    expect(seen()).toBe('{"URL":"http://crm.example"}');
    await registry.onApplicationShutdown();
    expect(seen()).toBe('closed');
  });

  it('lets a plugin unregister its own tools, in setup and later', async () => {
    write(
      'plugins/a.mjs',
      module(`export default definePlugin({ name: 'a', version: '1', tools: [${tool('one')}, ${tool('two')}, ${tool('three')}],
  setup({ unregisterTool }) { unregisterTool('one'); globalThis.nightshiftUnregister = unregisterTool; } });`),
    );
    const registry = await load();
    const unregister = (globalThis as { nightshiftUnregister?: (name: string) => void }).nightshiftUnregister; // set by the plugin above
    const removed: string[] = [];
    registry.connect((name) => removed.push(name));
    unregister?.('two');
    expect(removed).toEqual(['one', 'two']);
    expect(registry.shown()[0]?.tools).toEqual(['three']);
    expect(() => unregister?.('calculate')).toThrow('The plugin "a" defines no tool "calculate".');
  });

  const bad: readonly (readonly [problem: string, text: string, reason: string])[] = [
    ['throws while it loads', `throw new Error('no license.');`, 'no license ('],
    ['exports no definition', 'export const a = 1;', 'it exports no tool, hook or node'],
    [
      'throws in setup',
      `export default definePlugin({ name: 'a', version: '1', setup() { throw new Error('no access'); } });`,
      'no access (',
    ],
    ['has an invalid name', `export default definePlugin({ name: 'a b', version: '1' });`, 'its name must consist of'],
    [
      'has a hook for an unknown event',
      `export const a = defineHook({ on: 'beforeLunch', name: 'h', run() {} });`,
      'hook "h": on must be one of beforeJobStart',
    ],
    [
      'has a node without a namespace',
      `export const a = defineNode({ type: 'score', title: 's', input: { type: 'object' }, run() {} });`,
      'node "score": its type must have a namespace with a dot',
    ],
    [
      'has a node whose input cannot be compiled as a schema',
      `export const a = defineNode({ type: 'a.b', title: 's', input: { type: 'objekt' }, run() {} });`,
      'node "a.b": input: The JSON Schema cannot be used',
    ],
    [
      'has a node whose input takes a name that every node has',
      `export const a = defineNode({ type: 'a.b', title: 's', input: { type: 'object', properties: { label: {} } }, run() {} });`,
      'node "a.b": input: the schema must not have the property "label", which every node has',
    ],
    [
      'has a node with an unknown effect',
      `export const a = defineNode({ type: 'a.b', title: 's', effect: 'twice', input: { type: 'object' }, run() {} });`,
      'node "a.b": effect must be one of pure, idempotent, once',
    ],
    [
      'defines a hook twice',
      `export const a = [1, 2].map(() => defineHook({ on: 'onInterrupt', name: 'h', run() {} }));
       export default definePlugin({ name: 'a', version: '1', hooks: a });`,
      'the name "h" of a hook is already in use',
    ],
  ];
  it.each(bad)('refuses a plugin that %s, with its file', async (_problem, text, reason) => {
    const file = write('plugins/bad.mjs', module(text));
    const refused = load();
    await expect(refused).rejects.toMatchObject({ code: 'plugin_refused', details: { file } });
    await expect(refused).rejects.toThrow(`The plugin ${file} cannot be loaded: ${reason}`);
  });

  it('refuses two plugins of one name', async () => {
    for (const file of ['a.mjs', 'b.mjs'])
      write(`plugins/${file}`, module(`export default definePlugin({ name: 'same', version: '1' });`));
    await expect(load()).rejects.toThrow('b.mjs cannot be loaded: the name "same" of a plugin is already in use');
  });

  it('refuses a plugin that does not load within 10 s', async () => {
    const entry = write('slow.mjs', module('await new Promise(() => undefined);'));
    const clock = new ManualClock();
    const setupOf = () => ({ config: {}, logger, unregisterTool: () => undefined });
    const loading = loadPlugin({ entry, folder: null, name: 'slow', version: null }, { clock, setupOf });
    clock.advance(10_000);
    await expect(loading).rejects.toThrow('it did not load within 10 s');
  });

  it('limits the load of a module and its setup to 10 s together', async () => {
    const text = `globalThis.nightshiftLoads = Promise.withResolvers();
await globalThis.nightshiftLoads.promise;
export default definePlugin({ name: 'slow', version: '1', setup() { globalThis.nightshiftSetUp.resolve(); return new Promise(() => undefined); } });`;
    const entry = write('slow.mjs', module(text));
    type Step = ReturnType<typeof Promise.withResolvers>;
    const steps = globalThis as { nightshiftLoads?: Step; nightshiftSetUp?: Step }; // for the plugin
    steps.nightshiftSetUp = Promise.withResolvers();
    const clock = new ManualClock();
    const setupOf = () => ({ config: {}, logger, unregisterTool: () => undefined });
    const loading = loadPlugin({ entry, folder: null, name: 'slow', version: null }, { clock, setupOf });
    const refused = expect(loading).rejects.toThrow('it did not load within 10 s');
    clock.advance(9_000);
    const step = await eventually('the module loads', () => steps.nightshiftLoads);
    step.resolve(undefined);
    await steps.nightshiftSetUp.promise;
    clock.advance(1_000);
    await refused;
  });

  it('does not wait longer than 5 s for a plugin that closes', async () => {
    const text = `export default definePlugin({ name: 'stuck', version: '1', close: () => new Promise(() => undefined) });`;
    const entry = write('stuck.mjs', module(text));
    const clock = new ManualClock();
    const source = { entry, folder: null, name: 'stuck', version: null };
    const plugin = await loadPlugin(source, {
      clock,
      setupOf: () => ({ config: {}, logger, unregisterTool: () => undefined }),
    });
    const closing = plugin.close();
    clock.advance(5_000);
    await expect(closing).rejects.toThrow('its close did not end within 5 s');
    expect(clock.pending).toBe(0);
  });

  it('refuses a folder of PLUGINS without a plugin', async () => {
    write('empty/notes.md', '');
    await expect(load(['empty'])).rejects.toThrow('empty cannot be loaded: the folder has no module');
  });
});
