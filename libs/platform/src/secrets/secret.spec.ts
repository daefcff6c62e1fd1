import { inspect } from 'node:util';

import { describe, expect, it } from '@jest/globals';

import { Secret } from './secret.js';

describe('Secret', () => {
  const secret = new Secret('sk-canary-0123456789');

  it('prints [redacted] in every output', () => {
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

  it('returns its value from reveal()', () => {
    expect(secret.reveal()).toBe('sk-canary-0123456789');
  });

  it('shows its last four characters only if enough others stay hidden', () => {
    expect(secret.hint()).toBe('6789');
    expect(new Secret('short-key').hint()).toBe('');
  });
});
