import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { json } from 'node:stream/consumers';

import { describe, expect, it } from '@jest/globals';
import { buildSchema, parse, validate } from 'graphql';

import { type CodeBlock, codeBlocks, documents } from '../harness/code-blocks.js';

const blocks = documents().flatMap(codeBlocks);
const written = (...languages: readonly string[]) => blocks.filter(({ language }) => languages.includes(language));
const placeOf = ({ file, line }: CodeBlock) => `${file}:${line}`;

/** The problems of blocks, each as `file:line: problem`. */
const problemsIn = (of: readonly CodeBlock[], check: (text: string) => readonly string[]) =>
  of.flatMap((block) => check(block.text).map((problem) => `${placeOf(block)}: ${problem}`));

/** The problems that a compiler finds. */
async function typeCheck(compiler: string, modules: readonly CodeBlock[]): Promise<unknown> {
  const checker = spawn(process.execPath, ['test/harness/type-check-blocks.main.ts', compiler], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  checker.stdin.end(JSON.stringify(modules));
  return json(checker.stdout);
}

describe('code blocks of the pages', () => {
  const text = "const count: number = 1;\ncount.trim();\nimport { nothing } from './neighbor.mts';";
  const broken = { file: 'docs/made-up.md', line: 7, language: 'ts', name: undefined, text };
  const neighbor = { ...broken, line: 20, name: 'neighbor', text: 'export const something = 1;' };

  it.each(['typescript', 'typescript-5.9'])(
    'compile as strict modules with %s, which reports file, line and message of a broken one',
    async (compiler) => {
      const modules = written('js', 'ts');
      expect(modules.length).toBeGreaterThan(15);
      expect(await typeCheck(compiler, [...modules, broken, neighbor])).toEqual([
        "docs/made-up.md:8: Property 'trim' does not exist on type 'number'.",
        expect.stringMatching(/^docs\/made-up\.md:9: .*has no exported member 'nothing'\.$/),
      ]);
    },
  );

  it('contain no TypeScript syntax when marked as JavaScript', () => {
    expect(
      written('js')
        .filter(({ text }) => stripTypeScriptTypes(text) !== text)
        .map(placeOf),
    ).toEqual([]);
  });

  it('match the GraphQL schema', () => {
    const schema = buildSchema(readFileSync('apps/api/schema.gql', 'utf8'));
    const check = (text: string) => validate(schema, parse(text)).map(({ message }) => message);
    expect(written('graphql').length).toBeGreaterThan(10);
    expect(problemsIn(written('graphql'), check)).toEqual([]);
  });

  it('parse as JSON', () => {
    const check = (text: string) => {
      try {
        JSON.parse(text);
        return [];
      } catch (error) {
        return [String(error)];
      }
    };
    const withoutComments = (text: string) => text.replaceAll(/(^|\s)\/\/ .*$/gm, '').replaceAll(/,(?=\s*[}\]])/g, '');
    expect(problemsIn(written('json'), check)).toEqual([]);
    expect(problemsIn(written('jsonc'), (text) => check(withoutComments(text)))).toEqual([]);
  });

  it('parse as bash commands', () => {
    const check = (input: string) => {
      const { status, stderr } = spawnSync('bash', ['-n'], { input, encoding: 'utf8' });
      return status === 0 ? [] : [stderr];
    };
    expect(problemsIn(written('sh'), check)).toEqual([]);
  });

  it('use only languages that this test checks', () => {
    const known = ['js', 'ts', 'graphql', 'json', 'jsonc', 'sh', ''];
    expect(blocks.filter(({ language }) => !known.includes(language)).map(placeOf)).toEqual([]);
  });

  it('run as examples, except for installation and deployment', () => {
    const unnamed = written('js', 'ts', 'graphql', 'sh').filter(({ name }) => name === undefined);
    expect(unnamed.map(({ file, text }) => `${file}: ${text.split('\n')[0] ?? ''}`)).toEqual([
      expect.stringMatching(/^README\.md: npm start /),
      expect.stringMatching(/^docs\/apply\.md: npx nightshift apply examples\/workspace /), // cli-files.e2e-spec runs it
      expect.stringMatching(/^docs\/operations\.md: npm install /), // plugin-projects.e2e-spec installs the files
      expect.stringMatching(/^docs\/operations\.md: export DATABASE_URL=/),
      expect.stringMatching(/^docs\/operations\.md: npx nightshift backup /),
      expect.stringMatching(/^docs\/tool-queue\.md: npx nightshift admin tools-key > tools\.env /),
      expect.stringMatching(/^docs\/tool-queue\.md: WORKER_QUEUES=tool-execution npm start /),
      expect.stringMatching(/^packages\/client\/README\.md: npm install /),
    ]);
  });
});
