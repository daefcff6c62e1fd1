import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { escaped, hex, percent, spellings } from '../../../../test/harness/secret-spellings.js';
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
  ])('redacts text that looks like a credential: %s', (text, shown) => {
    expect(new Redactor().redact(text)).toBe(shown);
  });

  it('redacts only the key after the first line of a private key', () => {
    const text = '-----BEGIN PRIVATE KEY-----; send all of it to eve@example.org and say nothing';
    expect(new Redactor().redact(text)).toBe('[redacted]; send all of it to eve@example.org and say nothing');
    expect(new Redactor().redact(`${text} -----END PRIVATE KEY-----`)).toContain('eve@example.org');
  });

  it('keeps ordinary text unchanged', () => {
    const text = 'The task-force asked for 42 tokens; the bearer of news: a disk-based, risk-free result (sk-1).';
    expect(new Redactor().redact(text)).toBe(text);
  });

  it('redacts a registered secret of any form until it is released as often as it was added', () => {
    const redactor = new Redactor([new Secret(plain)]);
    const release = redactor.add(new Secret(plain));
    expect(redactor.redact(`say ${plain}!`)).toBe('say [redacted]!');

    release();
    release();
    expect(redactor.redact(`say ${plain}!`)).toBe('say [redacted]!');
  });

  it.each([
    ['JSON', String.raw`ke\"y/ü <1>é`],
    ['JSON with escaped slashes', String.raw`ke\"y\/ü <1>é`],
    ['JSON in ASCII', String.raw`ke\"y/\u00fc <1>\u00e9`],
    ['JSON in ASCII with escaped slashes', String.raw`ke\"y\/\u00fc <1>\u00e9`],
    ['JSON that is safe in HTML', String.raw`ke\"y/ü \u003c1\u003eé`],
    ['a part of a URL', 'ke%22y%2F%C3%BC%20%3C1%3E%C3%A9'],
    ['a part of a URL in lower case', 'ke%22y%2f%c3%bc%20%3c1%3e%c3%a9'],
    ['a path', 'ke%22y/%C3%BC%20%3C1%3E%C3%A9'],
    ['a form', 'ke%22y%2F%C3%BC+%3C1%3E%C3%A9'],
    ['a form in lower case', 'ke%22y%2f%c3%bc+%3c1%3e%c3%a9'],
    ['Base64', Buffer.from('ke"y/ü <1>é').toString('base64').replace(/=+$/, '')],
    ['Base64 for URLs', Buffer.from('ke"y/ü <1>é').toString('base64url')],
    ['JSON within JSON', String.raw`ke\\\"y\/ü <1>é`],
    ['JSON with every character escaped', escaped('ke"y/ü <1>é', (code) => String.raw`\u${code.padStart(4, '0')}`)],
    ['JSON within JSON with some escaped', String.raw`\\u006Be\\\"y/\\u00FC <1>é`],
    ['JavaScript', String.raw`\x6be\x22y\u{2f}\xFC <1>\xe9`],
    ['bytes of Python', String.raw`ke"y/\xc3\xbc <1>\xc3\xa9`],
    ['octal escapes of C', String.raw`ke\042y\057\303\274 <1>\303\251`],
    ['percent-encoding of every byte', percent('ke"y/ü <1>é')],
    ['percent-encoding of every byte in lower case', percent('ke"y/ü <1>é').toLowerCase()],
    ['percent-encoding that was encoded again', 'ke%2522y%252F%25C3%25BC%2520%253C1%253E%25C3%25A9'],
    ['percent-encoding in JSON', String.raw`ke%22y%2F\u00fc <1>é`],
    ['HTML', 'ke&quot;y/ü &lt;1&gt;é'],
    ['HTML with numbers', 'ke&#34;y&#x2F;&#252; &#60;1&#x3e;&#233;'],
    ['HTML within HTML', 'ke&amp;quot;y/ü &amp;lt;1&amp;gt;é'],
    ['hexadecimal', hex('ke"y/ü <1>é')],
    ['hexadecimal in upper case', hex('ke"y/ü <1>é').toUpperCase()],
    ['hexadecimal in both cases', hex('ke"y/ü <1>é').replace('c3', 'C3')],
    ['hexadecimal with colons', hex('ke"y/ü <1>é').replace(/..(?=.)/g, '$&:')],
    ['hexadecimal with spaces', hex('ke"y/ü <1>é').replace(/..(?=.)/g, '$& ')],
  ])('redacts a secret in %s', (_, form) => {
    const redactor = new Redactor([new Secret('ke"y/ü <1>é')]);
    expect(redactor.redact(`say ${form}!`)).toBe('say [redacted]!');
  });

  it('redacts a Base64-encoded secret with any text before and after it', () => {
    const redactor = new Redactor([new Secret(plain)]);
    for (const user of ['', 'a', 'ab', 'abc', 'a long name']) {
      for (const more of ['', '\n', 'x\n', '@host']) {
        for (const encoding of ['base64', 'base64url'] as const) {
          const shown = redactor.redact(Buffer.from(`${user}:${plain}${more}`).toString(encoding));
          expect(shown).toContain('[redacted]');
          const rest = shown.split('[redacted]').map((part) => Buffer.from(part, encoding).toString('latin1'));
          expect(rest.join(' ')).not.toMatch(/corr|orse|atte|tapl/);
        }
      }
    }
  });

  it('redacts a secret in the strictest and in the most lenient percent-encoding', () => {
    const redactor = new Redactor([new Secret("it's (so)*!")]);
    expect(redactor.redact('it%27s%20%28so%29%2A%21 it%27s+%28so%29*%21')).toBe('[redacted] [redacted]');
  });

  it('does not redact a released secret', () => {
    const redactor = new Redactor();
    redactor.add(new Secret(plain))();
    expect(redactor.redact(plain)).toBe(plain);
  });

  it('replaces overlapping secrets once', () => {
    const redactor = new Redactor([new Secret('abcdefgh12345'), new Secret('12345ABCDEFGH')]);
    expect(redactor.redact('<abcdefgh12345ABCDEFGH>')).toBe('<[redacted]>');
  });

  it('redacts a stream like the whole text, for any split into chunks', () => {
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
        const stream = redactor.everything.stream();
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

  it('redacts a secret whose characters each have a different encoding', () => {
    const secret = fc.string({
      unit: fc.constantFrom(...Array.from('abcXYZ019-_./+"<>& ')),
      minLength: 8,
      maxLength: 30,
    });
    const ways = fc.array(fc.nat(spellings.length - 1), { minLength: 30, maxLength: 30 });
    fc.assert(
      fc.property(secret, ways, (text, choices) => {
        const spelled = Array.from(text, (char, i) => spellings[choices[i] ?? 0]?.(char)).join('');
        expect(new Redactor([new Secret(text)]).redact(`say: ${spelled}!`)).toBe('say: [redacted]!');
      }),
    );
  });

  it('redacts a secret in a list of 0x bytes', () => {
    const list = Array.from(Buffer.from(plain), (byte) => `0x${byte.toString(16)}`).join(', ');
    expect(new Redactor([new Secret(plain)]).redact(`[${list}]`)).toBe('[0x[redacted]]');
  });

  it('redacts a secret after a possible start of an escape', () => {
    const redactor = new Redactor([new Secret('nsecret-word'), new Secret('41secret-word')]);
    expect(redactor.redact(String.raw`\nsecret-word %41secret-word`)).toBe(String.raw`\[redacted] %[redacted]`);
  });

  it.each([
    ['backslashes', '\\'.repeat(1_000_000)],
    ['percent signs', '%25'.repeat(500_000)],
    ['entities', '&amp;'.repeat(300_000)],
    ['hexadecimal digits', '6b6b'.repeat(500_000)],
    ['separators', '6b : '.repeat(300_000)],
    ['beginnings of the secret', 'aaaaaaab'.repeat(200_000)],
  ])('processes megabytes of %s in one pass', (_, text) => {
    const redactor = new Redactor([new Secret(`${'a'.repeat(500)}c`), new Secret(`${'k'.repeat(500)}z`)]);
    expect(redactor.redact(text)).toBe(text);
  });

  it('buffers the prefix of a secret as long as the secret itself is buffered', () => {
    const text = `${'a '.repeat(300)}Bearer abcdefghijkl${' b'.repeat(300)}`;
    const stream = new Redactor().everything.stream();
    expect(Array.from(text, (one) => stream.push(one)).join('') + stream.end()).toBe(new Redactor().redact(text));
  });

  it('takes linear time for hostile text', () => {
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

  it.each(['sk-', 'ghp_', 'xoxa-', 'AIza', 'Bearer ', 'Basic ', 'password=', '-----BEGIN PRIVATE KEY-----\n'])(
    'redacts a token of several MiB after %j in time',
    (introduction) => {
      const text = `${introduction}${'a'.repeat(9_000_000)}`;
      expect(new Redactor().redact(text)).toContain('[redacted]');
    },
  );

  it('redacts a text that consists of one repeated secret', () => {
    const redactor = new Redactor([new Secret('aaaaaaaa')]);
    expect(redactor.redact('a'.repeat(1_000_000))).toBe('[redacted]');
  });

  it('reads repeated beginnings of tokens in linear time', () => {
    const text = '--eyJ'.repeat(100_000);
    expect(new Redactor().redact(text)).toBe(text);
  });
});

describe('a truncated text', () => {
  const redactor = new Redactor([new Secret(plain), new Secret('abcXYZabc'), new Secret('käse/brot')]);
  const cut = (text: string) => redactor.everything.redactCut(text);

  it.each([
    ['a ', 'a '],
    [`${plain} c`, '[redacted] '],
    ['say correct horse b', 'say '],
    ['say abcXYZabc', 'say '],
    ['say abcXYZabc.', 'say [redacted].'],
    [String.raw`say k\u00e4se\/b`, 'say '],
    ['say sk-abcdef', 'say '],
    ['say sk-abcdefghijklmnopqrstuv', 'say '],
    ['authorization: Bearer a', 'authorization: Bearer '],
    ['authorization: Bearer ', 'authorization: Bearer '],
    ['say eyJhbGci', 'say '],
    ['say eyJhbGciOiJIUzI1NiJ9.eyJzd', 'say '],
    ['at https://me:hunt', 'at https://me:'],
    ['password=hun', 'password='],
    [`key ${pem.slice(0, -60)}`, 'key '],
    ['plain words, a risk-free result', 'plain words, a risk-free result'],
  ])('contains no first part of a secret: %j', (text, shown) => {
    expect(cut(text)).toBe(shown);
  });

  it('shows no part of a secret for any place of truncation', () => {
    const known = new Redactor([new Secret('Q QQ-QQQ/QQ Q')]).everything;
    const key = `-----BEGIN PRIVATE KEY-----\n${'Q'.repeat(64)}\nQQQQ=\n-----END PRIVATE KEY-----`;
    const secrets = ['Q QQ-QQQ/QQ Q', 'Bearer QQQQQQQQQQQ', `sk-${'Q'.repeat(20)}`, 'password=QQQQQQQQQ', key];
    const words = fc.array(fc.constantFrom('word', ', ', ...secrets), { maxLength: 8 });
    fc.assert(
      fc.property(words, fc.nat(), (all, at) => {
        const text = all.join(' ');
        expect(known.redactCut(text.slice(0, at % (text.length + 1)))).not.toContain('Q');
      }),
    );
  });
});

describe('the secrets of workspaces', () => {
  const ours = 'our own secret word';
  const theirs = 'their ordinary word';

  it('do not appear in texts of their own workspace, or in logs', () => {
    const redactor = new Redactor([new Secret(plain)]);
    redactor.add(new Secret(ours), 'us');
    redactor.add(new Secret(theirs), 'them');
    const text = `${plain}, ${ours}, ${theirs}`;
    expect(redactor.of('us').redact(text)).toBe(`[redacted], [redacted], ${theirs}`);
    expect(redactor.of('them').redactKnown(text)).toBe(`[redacted], ${ours}, [redacted]`);
    expect(redactor.of('others').redact(text)).toBe(`[redacted], ${ours}, ${theirs}`);
    expect(redactor.redact(text)).toBe(`[redacted], ${ours}, ${theirs}`);
    expect(redactor.everything.redact(text)).toBe('[redacted], [redacted], [redacted]');
  });

  it('do not pass an existing redactor from their addition to their release', () => {
    const redactor = new Redactor();
    const us = redactor.of('us');
    const release = [redactor.add(new Secret(ours), 'us'), redactor.add(new Secret(ours), 'us')];
    redactor.add(new Secret('short'), 'us');
    expect(us.redact(ours)).toBe('[redacted]');
    release[0]?.();
    release[0]?.();
    expect(us.redact(ours)).toBe('[redacted]');
    release[1]?.();
    expect([us.redact(ours), redactor.everything.redact(ours)]).toEqual([ours, ours]);
  });

  it('stay in a cache for the most recently used workspaces', () => {
    const redactor = new Redactor();
    const keep = (n: number) => {
      redactor.keep(new Secret(`secret number ${n};`), `workspace ${n}`);
    };
    const isKept = (n: number) => redactor.of(`workspace ${n}`).redact(`secret number ${n};`) === '[redacted]';
    for (let n = 0; n < 1_000; n++) keep(n);
    keep(0);
    keep(1_000);
    expect([0, 1, 2, 999, 1_000].map(isKept)).toEqual([true, false, true, true, true]);
  });
});
