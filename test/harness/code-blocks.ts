import { readdirSync, readFileSync } from 'node:fs';

/** A fenced block of a document. */
export interface CodeBlock {
  readonly file: string;
  /** The line of its first line of code, from 1. */
  readonly line: number;
  /** The word after the fence; empty: none. */
  readonly language: string;
  /** Of the comment `<!-- example: name -->` above it. */
  readonly name: string | undefined;
  readonly text: string;
}

/** The documents for users and contributors whose code blocks are checked. */
export function documents(): readonly string[] {
  const inFolder = (folder: string, suffix: string) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith(suffix) && !name.includes('node_modules'))
      .map((name) => `${folder}/${name}`);
  const tops = readdirSync('.').filter((name) => name.endsWith('.md'));
  return [...tops, ...inFolder('docs', '.md'), ...inFolder('packages', 'README.md')].sort();
}

/** All fenced blocks of a document, also those inside of lists. */
export function codeBlocks(file: string): readonly CodeBlock[] {
  const text = readFileSync(file, 'utf8');
  const fences = /(?:<!-- example: (\S+) -->\s+)?^( *)(`{3,}|~{3,})(.*)\n([^]*?)^\2\3 *$/gm;
  return [...text.matchAll(fences)].map((found) => {
    const [all, name, indent = '', fence = '', language = '', code = ''] = found;
    const start = found.index + all.indexOf(`${fence}${language}\n`) + fence.length + language.length + 1;
    return {
      ...{ file, name, language: language.trim(), line: text.slice(0, start).split('\n').length },
      text: code.replaceAll(new RegExp(`^${indent}`, 'gm'), '').replace(/\n$/, ''),
    };
  });
}
