import { readdirSync, readFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';

const folder = 'examples/workflows';

interface Example {
  readonly nodes: readonly { readonly type: string; readonly data: { readonly subflowId?: string } }[];
}

/** The ids of the documents that one uses. */
function subflowsOf(name: string): readonly string[] {
  const { nodes } = JSON.parse(readFileSync(`${folder}/${name}.json`, 'utf8')) as Example; // a spec of its own checks them
  return nodes.flatMap(({ type, data }) =>
    type === 'subflow' && data.subflowId !== undefined ? [data.subflowId] : [],
  );
}

/** In the order of the table. */
function listed(): readonly string[] {
  const [, section = ''] = readFileSync('docs/workflows.md', 'utf8').split('\n## Try the examples\n');
  const [own = ''] = section.split('\n## ');
  return [...own.matchAll(/^\| \[[^\]]+\]\(\.\.\/examples\/workflows\/([\w-]+)\.json\)/gm)].map(
    ([, name = '']) => name,
  );
}

describe('docs/workflows.md examples', () => {
  it('match the files of the examples folder', () => {
    expect(listed().toSorted()).toEqual(
      readdirSync(folder)
        .map((file) => file.replace('.json', ''))
        .toSorted(),
    );
  });

  it('publish in this order: each workflow comes after those that it uses', () => {
    const names = listed();
    const used = names.flatMap((name, at) => subflowsOf(name).map((subflow) => ({ name, subflow, at })));
    expect(used.length).toBeGreaterThan(0);
    expect(used.filter(({ subflow, at }) => !names.slice(0, at).includes(subflow))).toEqual([]);
  });
});
