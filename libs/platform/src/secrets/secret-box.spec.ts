import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { Secret } from './secret.js';
import { SecretBox, type SecretPlace } from './secret-box.js';

const old = new Secret('an old instance secret of enough length');
const current = new Secret('a new instance secret of enough length!');
const place: SecretPlace = { workspaceId: 'w1', table: 'model_provider', row: 'r1', field: 'key_cipher' };

describe('SecretBox', () => {
  const box = new SecretBox(current);

  it('decrypts what it has encrypted', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(box.open(box.seal(new Secret(text), place), place).reveal()).toBe(text);
      }),
    );
  });

  it('encrypts the same value differently each time, and never as plain text', () => {
    const first = box.seal(new Secret('sk-canary'), place);
    const second = box.seal(new Secret('sk-canary'), place);

    expect(Buffer.from(first).equals(Buffer.from(second))).toBe(false);
    expect(Buffer.from(first).includes('sk-canary')).toBe(false);
  });

  it.each<Partial<SecretPlace>>([{ workspaceId: 'w2' }, { table: 'job' }, { row: 'r2' }, { field: 'other' }])(
    'does not decrypt a value at another place: %j',
    (elsewhere) => {
      const sealed = box.seal(new Secret('sk-canary'), place);

      expect(() => box.open(sealed, { ...place, ...elsewhere })).toThrow(
        expect.objectContaining({ code: 'secret_unreadable' }),
      );
    },
  );

  it('refuses a place whose parts contain the separator', () => {
    expect(() => box.seal(new Secret('x'), { ...place, row: 'r1|key_cipher' })).toThrow();
  });

  it('does not decrypt a value with a changed or missing byte', () => {
    const sealed = box.seal(new Secret('sk-canary'), place);
    for (let at = 0; at < sealed.length; at++) {
      const changed = Uint8Array.from(sealed, (byte, index) => (index === at ? byte ^ 1 : byte));
      expect(() => box.open(changed, place)).toThrow(expect.objectContaining({ code: 'secret_unreadable' }));
      expect(() => box.open(sealed.subarray(0, at), place)).toThrow(
        expect.objectContaining({ code: 'secret_unreadable' }),
      );
    }
  });

  it('decrypts a value of an earlier secret as long as the box has that secret', () => {
    const sealed = new SecretBox(old).seal(new Secret('sk-canary'), place);
    const rotated = new SecretBox(current, [old]);

    expect(rotated.open(sealed, place).reveal()).toBe('sk-canary');
    expect(rotated.isOutdated(sealed)).toBe(true);
    expect(rotated.isOutdated(rotated.seal(new Secret('x'), place))).toBe(false);
    expect(() => box.open(sealed, place)).toThrow(expect.objectContaining({ code: 'secret_unreadable' }));
  });
});
