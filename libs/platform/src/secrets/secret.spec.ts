import { inspect } from 'node:util';

import { describe, expect, it } from '@jest/globals';

import { Secret } from './secret.js';

describe('Secret', () => {
  const secret = new Secret('sk-canary-0123456789');

  it('prints [redacted] wherever it is printed', () => {
    const printed = [
      String(secret),
      JSON.stringify({ secret }),
      inspect({ secret }, { depth: 9, showHidden: true }),
      String(Object.values(secret)),
    ];

    expect(printed.join()).not.toContain('canary');
    expect(printed[0]).toBe('[redacted]');
    expect(printed[1]).toBe('{"secret":"[redacted]"}');
  });

  it('reveals its value to the one that asks', () => {
    expect(secret.reveal()).toBe('sk-canary-0123456789');
  });

  it('hints at its last four characters only when enough stay hidden', () => {
    expect(secret.hint()).toBe('6789');
    expect(new Secret('short-key').hint()).toBe('');
  });
});
