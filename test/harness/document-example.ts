import { readFileSync } from 'node:fs';

/** The code block of a document after `<!-- example: name -->`. */
export function documentExample(file: string, name: string): string {
  const text = readFileSync(file, 'utf8');
  const found = new RegExp(`<!-- example: ${name} -->\\s+\`\`\`\\w+\\n([^]*?)\\n\`\`\``).exec(text);
  if (found?.[1] === undefined) throw new Error(`${file} has no example ${name}`);
  return found[1];
}
