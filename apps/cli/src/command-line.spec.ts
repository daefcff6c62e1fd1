import { describe, expect, it } from '@jest/globals';

import { commandLine } from './command-line.js';
import { readEnvironment } from './environment.js';

describe('commandLine', () => {
  it('repeats the flags that select the server, quoted for a shell, and never a token', () => {
    const flags = { url: 'http://127.0.0.1:4100', dataDir: "/my data/it's", token: 'nsk_secret', workspace: undefined };
    expect(commandLine('npx nightshift', flags)('attach 1')).toBe(
      `npx nightshift --url http://127.0.0.1:4100 --data-dir '/my data/it'\\''s' attach 1`,
    );
    expect(commandLine('nightshift', {})('jobs')).toBe('nightshift jobs');
  });

  it.each([
    ['npx nightshift', { npm_command: 'exec' }, '/checkout/node_modules/.bin/nightshift'],
    ['npx nightshift', {}, '/checkout/dist/apps/cli/main.js'],
    ['npx nightshift', {}, undefined],
    ['nightshift', {}, '/checkout/node_modules/.bin/nightshift'],
    ['nightshift', { npm_command: 'run-script' }, '/usr/local/bin/nightshift'],
  ])('names the program "%s" for %j started as %s', (program, environment, script) => {
    expect(readEnvironment(environment, script).program).toBe(program);
  });
});
