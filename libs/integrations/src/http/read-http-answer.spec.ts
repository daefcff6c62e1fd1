import { describe, expect, it } from '@jest/globals';

import { Redactor, Secret } from '#platform';

import { excerptOf, readHttpAnswer } from './read-http-answer.js';

const secret = 'canary-0123456789';
const redaction = new Redactor([new Secret(secret), new Secret('für-immer-geheim')]).everything;

function answer(body: string | Uint8Array, changes: { status?: number; type?: string; isCut?: boolean } = {}) {
  const { status = 200, type = 'application/json', isCut = false } = changes;
  return { status, headers: { 'content-type': type }, url: 'https://a.test/', body: Buffer.from(body), isCut };
}

describe('readHttpAnswer', () => {
  it.each<[string, string | undefined, string]>([
    ['{"a": {"b": "text"}}', '$.a.b', 'text'],
    ['{"a": {"b": 1}}', '$.a', '{"b":1}'],
    ['{"a": 1}', '$.b', 'null'],
    ['[{"a":1},{"a":2}]', '$[*].a', '[1,2]'],
    ['{"a": 1} ', undefined, '{"a": 1} '],
    ['', undefined, 'HTTP 200 OK'],
    [`{"a": "${secret}"}`, '$.a', '[redacted]'],
    [`{"a": "c\\u0061nary-0123456789"}`, '$.a', '[redacted]'],
    [`x ${secret} y`, undefined, 'x [redacted] y'],
  ])('reads %s by %s as %s', (body, result, text) => {
    expect(readHttpAnswer(answer(body), redaction, result)).toBe(text);
  });

  it.each<[ReturnType<typeof answer>, string | undefined, string]>([
    [answer('no such user', { status: 404 }), undefined, 'HTTP 404 Not Found: no such user'],
    [answer('', { status: 500 }), undefined, 'HTTP 500 Internal Server Error'],
    [answer(`key ${secret} is wrong`, { status: 401 }), '$.a', 'HTTP 401 Unauthorized: key [redacted] is wrong'],
    [answer('', { status: 302 }), undefined, 'HTTP 302 Found: it redirects to nowhere'],
    [answer('<html>', { type: 'text/html' }), '$.a', 'its response is not JSON'],
    [answer('{"a":', { isCut: true }), '$.a', 'its response is larger than 5 bytes'],
    [answer('x', { type: 'image/png' }), undefined, 'its response is not text: (1 bytes of image/png)'],
  ])('fails with the error text of the remote server: %#', (given, result, message) => {
    expect(() => readHttpAnswer(given, redaction, result)).toThrow(message);
  });

  it('marks a truncated text', () => {
    expect(readHttpAnswer(answer('abd', { isCut: true }), redaction)).toBe('abd\n[cut after 3 bytes]');
  });

  it('contains no part of a secret where a response was truncated', () => {
    for (let at = 1; at < secret.length; at++) {
      const cut = answer(`say ${secret.slice(0, at)}`, { isCut: true });
      expect(readHttpAnswer(cut, redaction)).toBe(`say \n[cut after ${4 + at} bytes]`);
    }
    const inCharacter = answer(Buffer.from('say für').subarray(0, 6), { isCut: true });
    expect(readHttpAnswer(inCharacter, redaction)).toBe('say \n[cut after 6 bytes]');
    const failed = answer('say canary-01', { isCut: true, status: 500 });
    expect(() => readHttpAnswer(failed, redaction)).toThrow(/^HTTP 500 Internal Server Error: say$/);
  });

  it('fails for JSON that is nested too deeply', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(() => readHttpAnswer(answer(deep), redaction, '$')).toThrow('nested too deep');
  });

  it('decodes other charsets', () => {
    const latin = Buffer.from('gr\xfc\xdfe', 'latin1');
    expect(readHttpAnswer(answer(latin, { type: 'text/plain; charset=ISO-8859-1' }), redaction)).toBe('grüße');
    expect(readHttpAnswer(answer('grüße', { type: 'text/plain; charset=nonsense' }), redaction)).toBe('grüße');
  });
});

describe('excerptOf', () => {
  it('returns a short text without the beginning of a secret', () => {
    const text = `${'x'.repeat(495)}${secret}`;
    expect(excerptOf(answer(text), redaction)).toBe(`${'x'.repeat(495)}[reda …`);
  });

  it('contains no part of a long secret whose redaction shortens the text', () => {
    const long = `canary-${'0123456789'.repeat(800)}`;
    const shown = excerptOf(answer(long.repeat(5)), new Redactor([new Secret(long)]).everything);
    expect(shown).toBe('[redacted]'.repeat(4));
  });
});
