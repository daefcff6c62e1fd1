import { describe, expect, it } from '@jest/globals';

import { parseArguments, UsageError } from './arguments.js';

const refusal = (...words: string[]): string => {
  try {
    parseArguments(words);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  return '';
};

describe('parseArguments', () => {
  it('serves and runs the sample when there are no arguments', () => {
    expect(parseArguments([])).toEqual({ sample: true, once: false, help: false });
  });

  it('reads values after a space and after =', () => {
    expect(parseArguments(['--role', 'api', '--port=0', '--data-dir', 'my data'])).toMatchObject({
      role: 'api',
      port: '0',
      dataDir: 'my data',
    });
  });

  it('reads the switches', () => {
    expect(parseArguments(['--no-sample'])).toMatchObject({ sample: false });
    expect(parseArguments(['--once'])).toMatchObject({ once: true, sample: true });
    expect(parseArguments(['-h'])).toMatchObject({ help: true });
  });

  it('names the flag that was probably meant', () => {
    expect(refusal('--prot', '4000')).toContain('Did you mean --port?');
    expect(refusal('--dat-dir=x')).toContain('Did you mean --data-dir?');
  });

  it('lists the flags when it cannot guess', () => {
    const text = refusal('--verbose');

    expect(text).not.toContain('Did you mean');
    expect(text).toContain('--role, --port, --data-dir, --no-sample, --once, --help');
  });

  it.each([['--port'], ['--port', '--once'], ['--port=']])('asks for the value that is missing: %j', (...words) => {
    expect(refusal(...words)).toContain('--port needs a value');
  });

  it('takes a value that begins with a dash after =', () => {
    expect(parseArguments(['--data-dir=-odd'])).toMatchObject({ dataDir: '-odd' });
  });

  it('refuses a value for a switch', () => {
    expect(refusal('--once=yes')).toBe('--once takes no value.');
  });

  it('refuses words that stand alone', () => {
    expect(refusal('api')).toContain('"api" stands alone');
    expect(refusal('--', 'api')).toContain('"api" stands alone');
  });

  it('refuses to run the sample once without running it', () => {
    expect(refusal('--once', '--no-sample')).toContain('--once');
  });
});
