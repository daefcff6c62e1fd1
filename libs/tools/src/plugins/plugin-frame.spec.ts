import { describe, expect, it } from '@jest/globals';

import { pluginFrame } from './plugin-frame.js';

const withStack = (...lines: readonly string[]) => Object.assign(new Error('x'), { stack: lines.join('\n') });
const module = (name: string) => `file:///srv/my%20plugins/${name}?plugin=0123456789abcdef`;

describe('pluginFrame', () => {
  it.each([
    [
      'the first frame in the code of the plugin',
      withStack(
        ...['ReferenceError: x is not defined', '    at run (node:internal/modules/run_main:1:2)'],
        ...[`    at setup (${module('b.ts')}:7:9)`, `    at ${module('a.ts')}:3:19`],
      ),
      '/srv/my plugins/b.ts:7',
    ],
    [
      'the place of an import that does not exist',
      withStack(`${module('a.mjs')}:2`, "import { q } from './b.ts';", 'SyntaxError: no export'),
      '/srv/my plugins/a.mjs:2',
    ],
    [
      'the place of a syntax error in TypeScript',
      withStack('/srv/plugins/a.ts:2', 'const b: number = ;', 'SyntaxError: Expression expected'),
      '/srv/plugins/a.ts:2',
    ],
    [
      'the frame of a CommonJS module',
      withStack(
        'Error: x',
        '    at file:///srv/x.js:1:2',
        '    at Object.<anonymous> (file:///srv/plugins/entry.ts:4:1)',
      ),
      '/srv/plugins/entry.ts:4',
    ],
    [
      'the frame behind a message with the URL of no local file',
      withStack('Error: cannot read file://nas/share/cfg:12', `    at setup (${module('b.ts')}:7:9)`),
      '/srv/my plugins/b.ts:7',
    ],
    [
      'null without a frame in the plugin',
      withStack('Error: connect ECONNREFUSED 127.0.0.1:5432', '    at a (file:///srv/x.js:1:2)'),
      null,
    ],
    ['null for a value of another type', 'text', null],
  ])('returns %s', (_, error, expected) => {
    expect(pluginFrame(error, '/srv/plugins/entry.ts')).toBe(expected);
  });
});
