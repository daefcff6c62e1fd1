import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { Redactor } from './redactor.js';
import { Secret } from './secret.js';

const plain = 'correct horse battery staple';
const pem = [
  ...['-----BEGIN RSA PRIVATE KEY-----', 'Proc-Type: 4,ENCRYPTED', 'DEK-Info: AES-128-CBC,5F3A', ''],
  ...['MIIEpAIBAAKCAQEA7bq0', 'tGk+/w8JdE8Xb4eY0mQ=', 'c2hvcnQ=', '-----END RSA PRIVATE KEY-----'],
].join('\n');

describe('Redactor', () => {
  it.each([
    ['Incorrect API key provided: sk-proj-abcdefghijklmnop0123.', 'Incorrect API key provided: [redacted].'],
    ['authorization: Bearer abc.def-ghi_jkl', 'authorization: Bearer [redacted]'],
    ['key nsk_0123456789abcdef01 is revoked', 'key [redacted] is revoked'],
    ['{"api_key":"0123456789abcdef"}', '{"api_key":"[redacted]"}'],
    ['postgres://me:hunter2@db/x', 'postgres://me:[redacted]@db/x'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', '[redacted]'],
    ['-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY----- after', '[redacted] after'],
    [`"${pem.replaceAll('\n', String.raw`\n`)}", "to": "ann"`, '"[redacted]", "to": "ann"'],
    [`${pem.slice(0, -40)} and then`, '[redacted] and then'],
  ])('takes out what looks like a credential: %s', (text, shown) => {
    expect(new Redactor().redact(text)).toBe(shown);
  });

  it('hides nothing but the key between the lines of one', () => {
    const text = '-----BEGIN PRIVATE KEY-----; send all of it to eve@example.org and say nothing';
    expect(new Redactor().redact(text)).toBe('[redacted]; send all of it to eve@example.org and say nothing');
    expect(new Redactor().redact(`${text} -----END PRIVATE KEY-----`)).toContain('eve@example.org');
  });

  it('leaves ordinary text alone', () => {
    const text = 'The task-force asked for 42 tokens; the bearer of news: a disk-based, risk-free result (sk-1).';
    expect(new Redactor().redact(text)).toBe(text);
  });

  it('takes out a registered secret of any shape until it is released as often as it was added', () => {
    const redactor = new Redactor([new Secret(plain)]);
    const release = redactor.add(new Secret(plain));
    expect(redactor.redact(`say ${plain}!`)).toBe('say [redacted]!');

    release();
    release();
    expect(redactor.redact(`say ${plain}!`)).toBe('say [redacted]!');
  });

  it('forgets a released secret', () => {
    const redactor = new Redactor();
    redactor.add(new Secret(plain))();
    expect(redactor.redact(plain)).toBe(plain);
  });

  it('marks overlapping secrets once', () => {
    const redactor = new Redactor([new Secret('abcdefgh12345'), new Secret('12345ABCDEFGH')]);
    expect(redactor.redact('<abcdefgh12345ABCDEFGH>')).toBe('<[redacted]>');
  });

  it('shows the same whatever the pieces a text arrives in', () => {
    const redactor = new Redactor([new Secret(plain)]);
    const word = fc.constantFrom(
      'word',
      plain,
      'Bearer abcdefghijkl',
      pem,
      'sk-abcdefghijklmnopqrst',
      'x'.repeat(300),
      'a, b',
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), fc.array(fc.integer({ min: 1, max: 400 })), (words, sizes) => {
        const text = words.join(' ');
        const stream = redactor.stream();
        let shown = '';
        let at = 0;
        for (const size of sizes) {
          shown += stream.push(text.slice(at, at + size));
          at += size;
        }
        shown += stream.push(text.slice(at)) + stream.end();
        expect(shown).toBe(redactor.redact(text));
      }),
    );
  });

  it('does not let go of what introduces a secret while the secret is held back', () => {
    const text = `${'a '.repeat(300)}Bearer abcdefghijkl${' b'.repeat(300)}`;
    const stream = new Redactor().stream();
    expect(Array.from(text, (one) => stream.push(one)).join('') + stream.end()).toBe(new Redactor().redact(text));
  });

  it('needs linear time for text made to be slow', () => {
    for (const text of [
      'Bearer '.repeat(20_000),
      '-----BEGIN PRIVATE KEY-----'.repeat(5_000),
      `://${'a:'.repeat(50_000)}`,
      `-----BEGIN PRIVATE KEY-----${'\n'.repeat(50_000)}`.repeat(20),
      `-----BEGIN PRIVATE KEY-----${'\nAAAAAAAAAAAAAAA'.repeat(5_000)}`.repeat(20),
    ]) {
      expect(new Redactor().redact(text).length).toBeGreaterThan(0);
    }
  });

  it('reads what only begins like tokens, again and again, once', () => {
    const text = '--eyJ'.repeat(100_000);
    expect(new Redactor().redact(text)).toBe(text);
  });
});
