import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { hex, percent, spellings } from '../../../../test/harness/secret-spellings.js';
import { Redactor } from './redactor.js';
import { Secret } from './secret.js';

describe('a redacting stream for known secrets', () => {
  const key = 'sk-Pr0vider/key+42';
  const redactor = new Redactor([new Secret(key), new Secret('zweites Geheimnis')]).everything;
  const streamed = (pieces: readonly string[]): string => {
    const stream = redactor.knownStream();
    return pieces.map((piece) => stream.push(piece)).join('') + stream.end();
  };
  const forms = [
    ...[key, hex(key), hex(key).toUpperCase(), percent(key), encodeURIComponent(key)],
    ...[Buffer.from(key).toString('base64').replace(/=+$/, ''), Buffer.from(key).toString('base64url')],
    ...spellings.slice(1).map((spell) => Array.from(key, spell).join('')),
  ];

  it.each(forms)('shows no part of a secret for any split of it: %s', (form) => {
    const text = `The key is: ${form} and no more.`;
    for (let at = 0; at <= text.length; at++) {
      const shown = streamed([text.slice(0, at), text.slice(at)]);
      expect(shown).toMatch(/^The key is: (?:[3-7][0-9a-f]{0,2})?\[redacted\] and no more\.$/i);
    }
    expect(streamed(Array.from(text))).toMatch(/^The key is: (?:[3-7][0-9a-f]{0,2})?\[redacted\] and no more\.$/i);
  });

  it('returns the same output for any split of the text as for the whole text', () => {
    const word = fc.constantFrom(
      'word',
      'sk',
      'sk-Pr0',
      '50% &',
      '\\',
      key,
      percent(key),
      'zweites Geheimnis',
      'zweites',
      '\\n',
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), fc.array(fc.integer({ min: 2, max: 30 })), (words, sizes) => {
        const text = words.join(' ');
        const pieces: string[] = [];
        let at = 0;
        for (const size of sizes) pieces.push(text.slice(at, (at += size)));
        expect(streamed([...pieces, text.slice(at)])).toBe(redactor.redactKnown(text));
      }),
    );
  });

  it('emits ordinary text at once', () => {
    const stream = redactor.knownStream();
    for (const piece of ['The ', 'tasks', ' are', ' 66', ' done', ', ', 'zwei', ' results'])
      expect(stream.push(piece)).toBe(piece.startsWith('zwei') ? '' : piece === ' results' ? 'zwei results' : piece);
    expect(stream.end()).toBe('');
  });

  it('emits text that only begins like a secret, and redacts a long prefix of a secret', () => {
    const stream = new Redactor([new Secret('a'.repeat(40_000))]).everything.knownStream();
    expect(stream.push(`x ${'a'.repeat(9_000)}`)).toBe('x ');
    expect(stream.push('.')).toBe(`${'a'.repeat(9_000)}.`);
    expect(stream.push('a'.repeat(20_000))).toBe('[redacted]');
  });
});

describe('the redaction of a long text', () => {
  const long = Array.from({ length: 40_000 }, (_, i) => String.fromCharCode(97 + ((i * i) % 26))).join('');
  const keys = ['sk-Pr0vider/key+42', long];
  const redactor = new Redactor(keys.map((key) => new Secret(key))).everything;

  it.each([0, 1, 17, 250, 39_999])(
    'hides a secret of which %d characters are before the end of a piece',
    async (before) => {
      for (const key of [...keys, percent(keys[0] ?? ''), `Bearer ${'x'.repeat(500)}`]) {
        const text = `${' '.repeat(65_536 - before)}${key} and no more ${'y'.repeat(70_000)}`;
        expect(await redactor.redactLong(text)).toBe(redactor.redact(text));
      }
    },
  );

  it('hides keys in a row, and a known secret after a run that looks like a key', async () => {
    const rows = `sk-${'K'.repeat(30)} password=${'P'.repeat(40)} `.repeat(3_000);
    expect(await redactor.redactLong(rows)).toBe(redactor.redact(rows));
    for (const before of [262_140, 262_144, 300_000]) {
      const shown = await redactor.redactLong(`sk-${'K'.repeat(before)} ${keys[0]} ${'y'.repeat(70_000)}`);
      expect(shown).not.toContain('vider/key');
    }
  });

  it('lets other work of the process run meanwhile', async () => {
    const order: string[] = [];
    setImmediate(() => order.push('other work'));
    await redactor.redactLong(String.raw`\u0073`.repeat(500_000));
    order.push('redacted');
    expect(order).toEqual(['other work', 'redacted']);
  });
});
