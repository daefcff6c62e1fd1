import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { fillUrl, parseUrlTemplate, type UrlTemplate } from './url-template.js';

function parsed(text: string): UrlTemplate {
  const template = parseUrlTemplate(text);
  if (typeof template === 'string') throw new Error(template);
  return template;
}

const fill = (text: string, args: Record<string, unknown>) => fillUrl(parsed(text), args).href;
const users = 'https://api.example.com:8443/users/{id}/posts?q={query}&fixed=1&n={n}';

describe('parseUrlTemplate', () => {
  it('returns the host and the arguments', () => {
    expect(parsed(users)).toMatchObject({ host: 'api.example.com:8443', names: ['id', 'query', 'n'] });
    expect(parsed('https://a.test')).toMatchObject({ host: 'a.test', names: [] });
  });

  it.each([
    ['ftp://a.test/', 'must begin with'],
    ['/users/{id}', 'must begin with'],
    ['https://{host}/users', 'host is fixed'],
    ['https://{host}.example.com/', 'host is fixed'],
    ['https://api.example.com:{port}/', 'host is fixed'],
    ['{scheme}://api.example.com/', 'must begin with'],
    ['https://user:pass@a.test/', 'host is fixed'],
    ['https://user@{host}/', 'host is fixed'],
    ['https://a.test/?{name}=1', 'names in its query are fixed'],
    ['https://a.test/?a{b}=1', 'names in its query are fixed'],
    ['https://a.test/?{all}', 'names in its query are fixed'],
    ['https://a.test/{a b}', 'spaces'],
    ['https://a.test/{}', 'braces'],
    ['https://a.test/{{id}}', 'braces'],
    ['https://a.test/x}', 'braces'],
    ['https://a.test/#x', 'fragment'],
    ['https://a.test\\@b.test/', 'backslashes'],
    ['https://a.test/../x', '".."'],
    ['https://a.test/%2e%2E/x', '".."'],
    [`https://a.test/${'x'.repeat(2_000)}`, 'longer'],
    ['https://a b/', 'spaces'],
    ['https:///x', 'must begin with'],
  ])('refuses %s', (text, problem) => {
    expect(parseUrlTemplate(text)).toContain(problem);
  });
});

describe('fillUrl', () => {
  it('puts arguments in their places, percent-encoded', () => {
    expect(fill(users, { id: 'a/b c', query: 'x&y=z#?', n: 7 })).toBe(
      'https://api.example.com:8443/users/a%2Fb%20c/posts?q=x%26y%3Dz%23%3F&fixed=1&n=7',
    );
  });

  it('omits only query parameters whose argument is absent', () => {
    expect(fill(users, { id: 1, n: null })).toBe('https://api.example.com:8443/users/1/posts?fixed=1');
    expect(fill('https://a.test/x?q={q}', {})).toBe('https://a.test/x');
    expect(fill('https://a.test/x?q={q}', { q: '' })).toBe('https://a.test/x?q=');
  });

  it('writes lists with commas and objects as JSON', () => {
    const url = new URL(fill('https://a.test/?l={l}&o={o}&b={b}', { l: ['a', 2], o: { a: [1] }, b: false }));
    expect(Object.fromEntries(url.searchParams)).toEqual({ l: 'a,2', o: '{"a":[1]}', b: 'false' });
  });

  it('ignores inherited members', () => {
    expect(fill('https://a.test/?a={constructor}&b={toString}', {})).toBe('https://a.test/');
  });

  it.each([
    ['..', 'must not contain'],
    ['.', 'must not contain'],
    ['%2e%2e', 'must not contain'],
    ['a/../../admin', 'must not contain'],
    ['..\\admin', 'must not contain'],
    ['', 'must not be empty'],
    [null, 'must not be empty'],
    [undefined, 'must not be empty'],
  ])('refuses %j in the path', (id, problem) => {
    expect(() => fill('https://a.test/users/{id}', { id })).toThrow(problem);
  });

  it('refuses an argument that forms `..` together with the text beside it', () => {
    expect(() => fill('https://a.test/{a}{b}/x', { a: '.', b: '.' })).toThrow('must not contain');
    expect(() => fill('https://a.test/.{a}/x', { a: '.' })).toThrow('must not contain');
    expect(() => fill('https://a.test/%2{a}/x', { a: 'e' })).toThrow('another path');
  });

  it('never lets an argument change host, path or query', () => {
    const nasty = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string(),
      fc.constantFrom(
        '//evil.test',
        '@evil.test',
        '/..',
        '\r\nHost: x',
        '?a=b',
        '#',
        '%2f..',
        '\ud800',
        '＠evil',
        'a\0b',
        '..;/',
      ),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(fc.record({ id: nasty, query: nasty, n: nasty }), (args) => {
        let url: URL;
        try {
          url = fillUrl(parsed(users), args);
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid_arguments' });
          return;
        }
        expect([url.origin, url.username, url.hash]).toEqual(['https://api.example.com:8443', '', '']);
        expect(url.pathname.split('/')).toHaveLength(4);
        expect(url.pathname).toMatch(/^\/users\/[^/]+\/posts$/);
        expect([...url.searchParams.keys()].filter((name) => !['q', 'fixed', 'n'].includes(name))).toEqual([]);
        expect([...url.searchParams.keys()].length).toBeLessThanOrEqual(3);
        expect(url.searchParams.get('fixed')).toBe('1');
      }),
    );
  });
});
