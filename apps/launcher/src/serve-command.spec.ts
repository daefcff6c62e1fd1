import { describe, expect, it } from '@jest/globals';

import { parseServeOptions, UsageError } from './serve-command.js';

const parse = (...words: string[]) => parseServeOptions(words, () => undefined);
const refusal = (...words: string[]): string => {
  try {
    parse(...words);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  return '';
};

describe('parseServeOptions', () => {
  it('serves and runs the sample when there are no arguments', () => {
    expect(parse()).toEqual({ sample: true });
  });

  it('reads values after a space and after =', () => {
    expect(parse('--role', 'api', '--port=0', '--data-dir', 'my data')).toMatchObject({
      role: 'api',
      port: '0',
      dataDir: 'my data',
    });
  });

  it('reads the switches', () => {
    expect(parse('--no-sample')).toEqual({ sample: false });
    expect(parse('--once')).toEqual({ once: true, sample: true });
    expect(parse('--ephemeral')).toEqual({ ephemeral: true, sample: true });
    expect(refusal('--ephemeral', '--data-dir=kept')).toContain("'--ephemeral' cannot be used with option '--data-dir");
  });

  it.each(['-h', '--help'])('prints the flags for %s', (word) => {
    let printed = '';
    expect(parseServeOptions([word], (text) => (printed += text))).toBeNull();
    for (const flag of ['--role', '--port', '--data-dir', '--ephemeral', '--no-sample', '--once'])
      expect(printed).toContain(flag);
  });

  it('names the flag that was probably meant', () => {
    expect(refusal('--prot', '4000')).toContain('Did you mean --port?');
    expect(refusal('--dat-dir=x')).toContain('Did you mean --data-dir?');
  });

  it('lists the flags when it cannot guess', () => {
    const text = refusal('--verbose');

    expect(text).not.toContain('Did you mean');
    expect(text).toContain('--role, --port, --data-dir, --ephemeral, --no-sample, --once, --help');
  });

  it.each([['--port'], ['--port', '--once'], ['--port=']])('names the missing value: %j', (...words) => {
    expect(refusal(...words)).toMatch(/'--port <number>' argument.* (missing|needs a value)/);
  });

  it('takes a value that begins with a dash after =', () => {
    expect(parse('--data-dir=-odd')).toMatchObject({ dataDir: '-odd' });
  });

  it('refuses an unknown role and names the roles', () => {
    expect(refusal('--role', 'server')).toContain('all, api, worker, tools');
  });

  it('refuses a value for a switch', () => {
    expect(refusal('--once=yes')).toContain("'--once=yes'");
  });

  it('refuses positional arguments', () => {
    expect(refusal('api')).toContain('too many arguments');
    expect(refusal('--', 'api')).toContain('too many arguments');
  });

  it('refuses --once together with --no-sample', () => {
    expect(refusal('--once', '--no-sample')).toContain("'--once' cannot be used with option '--no-sample'");
  });
});
