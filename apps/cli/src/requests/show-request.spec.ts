import { PassThrough } from 'node:stream';

import { describe, expect, it } from '@jest/globals';
import type { Interrupt } from '@nightshift/client';

import { Screen } from '../terminal/screen.js';
import { showRequest } from './show-request.js';

const pipe = () => Object.assign(new PassThrough(), { isTTY: false });
const screen = new Screen({
  ...{ input: pipe(), out: pipe(), errors: pipe() },
  ...{ noColor: true, isDumb: true, noInput: true },
});
// As far as it is looked at.
const shown = (request: object) =>
  showRequest(
    screen,
    { kind: 'HUMAN_INPUT', title: 'Send it?', mayDecide: true, expiresAt: null, request } as Interrupt,
    0,
  );

describe('a printed request', () => {
  it('shows the input of the node that opened it', () => {
    expect(shown({ prompt: 'To all?', context: { input: 'Dear Ann,\nall is well.\n' } })).toEqual([
      '◆ Send it?',
      ...['    To all?', '    │ Dear Ann,', '    │ all is well.'],
    ]);
    expect(shown({ prompt: 'To all?', context: { input: ' ' } })).toEqual(['◆ Send it?', '    To all?']);
  });

  it('truncates a long text to a screen, and reports that there is more', () => {
    const input = Array.from({ length: 20 }, (_, at) => `line ${at + 1}`).join('\n');
    const lines = shown({ context: { input } });
    expect(lines.slice(-2)).toEqual(['    │ line 12', '    │ … 8 more lines: --json prints all of them']);
  });

  it('shows the reviewed output in place of the input', () => {
    expect(shown({ context: { input: 'a', output: 'b' } })).toEqual(['◆ Send it?', '    b']);
  });
});
