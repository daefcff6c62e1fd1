import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

const bin = join(process.cwd(), 'node_modules', '.bin');

/** What a shell completes these to, a word a line, each question ended by a point. */
const scripts = {
  bash: `source <(nightshift completion bash)
    complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _nightshift; printf '%s\\n' "\${COMPREPLY[@]}"; echo .; }
    complete_words nightshift jobs --status w
    complete_words nightshift workf
    complete_words nightshift workflows pub
    complete_words nightshift notifications r`,
  // The functions that zsh has in its line editor only.
  zsh: `compdef() { : }
    _describe() { print -l -- "\${(@)\${(@P)2}%%:*}" }
    _files() { print files }
    source <(nightshift completion zsh)
    complete_words() { words=("$@"); CURRENT=$#; _nightshift; print . }
    complete_words nightshift jobs --status w
    complete_words nightshift workf
    complete_words nightshift workflows pub
    complete_words nightshift notifications r`,
  fish: `nightshift completion fish | source
    for line in 'nightshift jobs --status w' 'nightshift workf' 'nightshift workflows pub' 'nightshift notifications r'
      complete -C $line | string replace -r '\\t.*' ''
      echo .
    end`,
};

function completions(shell: keyof typeof scripts): string[] {
  const bare = { bash: ['--noprofile', '--norc'], zsh: ['-f'], fish: ['--no-config'] }[shell];
  const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}`, HOME: process.env['HOME'] };
  const text = execFileSync(shell, [...bare, '-c', scripts[shell]], { env }).toString();
  return text.split('\n').filter((line) => line !== '');
}

describe('nightshift completion', () => {
  const shells = ['bash', 'zsh', 'fish'] as const;
  it.each(shells.filter((shell) => spawnSync(shell, ['-c', 'true']).error === undefined))(
    'completes the commands in %s',
    (shell) => {
      expect(completions(shell)).toEqual(['waiting', '.', 'workflows', '.', 'publish', '.', 'read', '.']);
    },
  );

  it.each(shells)('calls the program for its commands in the script for %s', (shell) => {
    const script = execFileSync(join(bin, 'nightshift'), ['completion', shell]).toString();
    expect(script).toMatch(new RegExp(`^#.*\\b(nightshift completion ${shell}|compdef nightshift)\\b`));
    expect(script).toContain('nightshift complete-words -- ');
  });
});
