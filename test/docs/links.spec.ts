import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, normalize } from 'node:path';

import { describe, expect, it } from '@jest/globals';

const tops = readdirSync('.').filter((name) => name.endsWith('.md'));
const guides = readdirSync('docs', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);
const files = [...tops, ...guides];

interface Link {
  /** Relative to the root. */
  readonly target: string;
  /** What stands after the `#`, or nothing. */
  readonly anchor: string;
}

/** The text without code: examples link nowhere. */
function proseOf(file: string): string {
  return readFileSync(file, 'utf8')
    .replaceAll(/^```[^]*?^```$/gm, '')
    .replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()]/g, ' '));
}

/** Links into this tree. */
function linksOf(file: string): readonly Link[] {
  return [...proseOf(file).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = '', anchor = ''] = target.split('#');
      return { target: path === '' ? file : normalize(`${dirname(file)}/${path}`), anchor };
    });
}

/** The anchors of headings, as code hosts make them. */
function anchorsOf(file: string): readonly string[] {
  return [...proseOf(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Every file that `file` links to; a folder stands for the files in it. */
function reachableFrom(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const { target } of linksOf(file)) {
    for (const next of files.filter((one) => one === target || dirname(one) === target)) reachableFrom(next, seen);
  }
  return seen;
}

describe('links of the pages', () => {
  it.each(files)('%s links only to existing files and headings', (file) => {
    const links = linksOf(file);
    expect(links.filter(({ target }) => !existsSync(target))).toEqual([]);
    const lost = links.filter(({ target, anchor }) => anchor !== '' && !anchorsOf(target).includes(anchor));
    expect(lost).toEqual([]);
  });

  it('the README leads to every page by links', () => {
    const reached = reachableFrom('README.md');
    expect(files.filter((file) => !reached.has(file))).toEqual([]);
  });

  it('the README table lists each guide', () => {
    const named = new Set(linksOf('README.md').map(({ target }) => target));
    expect(guides.filter((file) => dirname(file) === 'docs' && !named.has(file))).toEqual([]);
  });
});
