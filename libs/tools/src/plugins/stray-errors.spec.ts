import { describe, expect, it } from '@jest/globals';

import { strayErrors } from './stray-errors.js';

const HASH = '0123456789abcdef0123';

function errorWith(...frames: readonly string[]): Error {
  const error = new Error('broken');
  error.stack = ['Error: broken', ...frames.map((frame) => `    at ${frame}`)].join('\n');
  return error;
}

describe('strayErrors', () => {
  const timer = 'Timeout._onTimeout (file:///srv/plugins/acme.mjs?plugin=0123456789abcdef:3:9)';
  const node = 'listOnTimeout (node:internal/timers:605:17)';

  it('attributes an error to the plugin whose file its stack names, and counts it', () => {
    const seen: string[] = [];
    const leave = strayErrors.subscribe((plugin) => seen.push(plugin));
    expect(strayErrors.take(errorWith(timer, node))).toBe('acme.mjs');
    strayErrors.know(HASH, 'acme');
    expect(strayErrors.take(errorWith('async f (file:///srv/dist/x.js:1:1)', timer))).toBe('acme');
    leave();
    strayErrors.take(errorWith(timer));
    expect(seen).toEqual(['acme.mjs', 'acme']);
  });

  it.each([
    ['code of the server', errorWith('f (file:///srv/dist/libs/x.js:1:1)', node)],
    ['no frame, but a message that names a plugin', new Error('at acme.mjs?plugin=0123456789abcdef')],
    ['no stack', 'a text'],
  ])('takes no error with %s', (_case, error) => {
    expect(strayErrors.take(error)).toBeNull();
  });
});
