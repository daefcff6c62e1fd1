import { PassThrough } from 'node:stream';

import { describe, expect, it } from '@jest/globals';

import { Terminal, toPlainText } from './terminal.js';

const styled = (out: PassThrough, noColor = false) => new Terminal(out, { noColor }).style('green', 'x');

describe('Terminal', () => {
  it('colors only output to a terminal', () => {
    expect(styled(new PassThrough())).toBe('x');
    expect(styled(Object.assign(new PassThrough(), { isTTY: true }))).toBe('\u001b[32mx\u001b[39m');
  });

  it('does not color output when NO_COLOR is set', () => {
    expect(styled(Object.assign(new PassThrough(), { isTTY: true }), true)).toBe('x');
  });
});

describe('toPlainText', () => {
  it('removes control characters and keeps line breaks', () => {
    expect(toPlainText('a\u001b[2Jb\u0007\r\n\tc\u009b31m')).toBe('a[2Jb\n\tc31m');
  });
});
