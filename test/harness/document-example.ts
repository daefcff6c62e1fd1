import { codeBlocks } from './code-blocks.js';

/** The code block of a document after `<!-- example: name -->`. */
export function documentExample(file: string, name: string): string {
  const found = codeBlocks(file).find((block) => block.name === name);
  if (found === undefined) throw new Error(`${file} has no example ${name}`);
  return found.text;
}
