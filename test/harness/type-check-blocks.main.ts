import { dirname, join } from 'node:path';
import { json } from 'node:stream/consumers';

import type TypeScript from 'typescript';

import type { CodeBlock } from './code-blocks.js';

/**
 * Checks the blocks on standard input as strict TypeScript modules of one program, without writing them to disk. The argument is
 * the npm package of the compiler. A block is a neighbor of the other blocks of its document, so that it can import them by name.
 * Prints the problems as JSON: `file:line: message`. A process of its own, because a compiler runs twice as fast outside of Jest.
 */
const [, , compiler = 'typescript'] = process.argv;
const { default: ts } = (await import(compiler)) as { default: typeof TypeScript }; // each version exports this
const blocks = (await json(process.stdin)) as readonly CodeBlock[]; // the spec wrote it

/** Inside of the repository, where packages and `#` imports are found. */
const pathOf = ({ file, name, line }: CodeBlock) =>
  join(process.cwd(), 'code-blocks', file, `${name ?? `line-${line}`}.mts`);

const options: TypeScript.CompilerOptions = {
  ...{ strict: true, noEmit: true, skipLibCheck: true, allowImportingTsExtensions: true },
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.asynciterable.d.ts', 'lib.esnext.disposable.d.ts'],
  types: ['node'],
  // Packages of this repository are read from their sources, so the result does not depend on an earlier build.
  customConditions: ['nightshift-source'],
  // Blocks import `defineTool` only. Reading the complete libs would take 12 s per compiler.
  paths: {
    '#tools': [join(process.cwd(), 'libs/tools/src/define-tool.ts')],
    '#platform': [join(process.cwd(), 'libs/platform/src/errors/app-error.ts')],
  },
};

const sources = new Map(blocks.map((block) => [pathOf(block), block]));
const folders = new Set([...sources.keys()].map((path) => dirname(path)));
const disk = ts.createCompilerHost(options);
const program = ts.createProgram([...sources.keys()], options, {
  ...disk,
  fileExists: (path) => sources.has(path) || disk.fileExists(path),
  directoryExists: (path) => folders.has(path) || (disk.directoryExists?.(path) ?? true),
  getSourceFile: (path, language, ...rest) => {
    const block = sources.get(path);
    if (block === undefined) return disk.getSourceFile(path, language, ...rest);
    return ts.createSourceFile(path, block.text, language);
  },
});

const messageOf = ({ messageText }: TypeScript.Diagnostic) => ts.flattenDiagnosticMessageText(messageText, '\n');
const problems = [...sources].flatMap(([path, block]) => {
  const source = program.getSourceFile(path);
  // Only the blocks are checked: what they import is checked elsewhere.
  const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
  return found.map((diagnostic) => {
    const { line = 0 } = source?.getLineAndCharacterOfPosition(diagnostic.start ?? 0) ?? {};
    return `${block.file}:${block.line + line}: ${messageOf(diagnostic)}`;
  });
});
process.stdout.write(JSON.stringify([...program.getOptionsDiagnostics().map(messageOf), ...problems]));
