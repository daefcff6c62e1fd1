import { describe, expect, it } from '@jest/globals';

import { parseHttpTool } from './http-tool.js';

const base = {
  name: 'get_user',
  description: 'Finds a user.',
  parameters: { type: 'object', properties: { id: { type: 'string' }, token: { type: 'string' } }, required: ['id'] },
  method: 'POST',
  url: 'https://api.example.com/users/{id}',
};
const header = (name: string, value: string) => ({ headers: [{ name, value }] });
const verify = { url: 'https://api.example.com/calls/{idempotencyKey}' };

function problemOf(changes: object): string {
  try {
    parseHttpTool({ ...base, ...changes });
    return '';
  } catch (error) {
    return (error as Error).message; // an AppError
  }
}

describe('parseHttpTool', () => {
  it('fills the defaults: a tool with an undeclared effect is called once', () => {
    expect(parseHttpTool({ ...base, parameters: undefined, url: 'https://a.test/' })).toMatchObject({
      parameters: { type: 'object', properties: {} },
      effect: 'once',
      maxBytes: 1_048_576,
      isolation: 'worker',
      allowEdit: true,
      headers: [],
    });
    expect(parseHttpTool({ ...base, verify }).verify).toMatchObject({
      method: 'GET',
      happened: [200],
      didNotHappen: [404],
    });
  });

  it.each<[object]>([
    [header('Authorization', 'Bearer {{secret:API_TOKEN}}')],
    [header('X-Key', '{{secret:A}}:{{secret:B}}')],
    [header('Authorization', 'Bearer {token}')],
    [header('X-Version', '2026-01-01')],
    [{ body: { type: 'json', template: { user: { id: '{id}', text: 'is {id}' } } } }],
    [{ body: { type: 'form' } }],
    [{ body: { type: 'text', template: 'id={id}', contentType: 'text/plain; charset=utf-8' } }],
    [{ result: '$.data[*].id', onUnknown: 'verify', verify }],
  ])('accepts %j', (changes) => {
    expect(problemOf(changes)).toBe('');
  });

  it.each<[object, string]>([
    [{ name: 'server.tool' }, 'definition.name: 1 to 64'],
    [{ name: '' }, 'definition.name'],
    [{ description: ' ' }, 'definition.description'],
    [{ method: 'TRACE' }, 'definition.method'],
    [{ unknown: 1 }, 'definition.unknown: is not a known field'],
    [{ parameters: { type: 'string' } }, 'definition.parameters: it must be'],
    [{ parameters: { type: 'object', properties: { id: { $ref: 'http://127.0.0.1/x' } } } }, 'definition.parameters:'],
    [{ parameters: { type: 'object', properties: { id: { pattern: '(' } } } }, 'definition.parameters:'],
    [{ url: 'https://{id}/' }, 'definition.url: its host is fixed'],
    [{ url: 'https://a.test/{absent}' }, 'definition.url: {absent} is not among'],
    [{ url: 'https://a.test/?key={{secret:A}}' }, 'definition.url: secrets belong into headers'],
    [{ url: 'https://a.test/?api_key=abcdefgh123' }, 'definition.url: secrets belong into headers'],
    [header('Host', 'inside'), 'definition.headers.Host: this header is set'],
    [header('Content-Length', '1'), 'definition.headers.Content-Length'],
    [header('Idempotency-Key', '1'), 'definition.headers.Idempotency-Key'],
    [header('X-A', 'a\r\nX-B: c'), 'definition.headers.0.value: a header can contain only visible ASCII'],
    [header('X A', 'a'), 'definition.headers.0.name'],
    [header('X-A', '{absent}'), 'definition.headers.X-A: {absent}'],
    [header('Authorization', 'Bearer abcdefgh12345678'), 'definition.headers.Authorization: store the secret'],
    [header('Authorization', 'plain'), 'definition.headers.Authorization: store the secret'],
    [header('X-Api-Key', 'abcdefgh1234'), 'definition.headers.X-Api-Key: store the secret'],
    [{ headers: [...header('A', '1').headers, ...header('a', '2').headers] }, 'it is there twice'],
    [{ method: 'GET', body: { type: 'json' } }, 'definition.body: GET has no body'],
    [{ body: { type: 'text' } }, 'definition.body: the template of a text'],
    [{ body: { type: 'form', template: [] } }, 'definition.body: the template of a form'],
    [{ body: { type: 'text', template: 'x'.repeat(65_535) } }, 'definition.body: its template is longer than 65536'],
    [{ body: { type: 'json', template: ['{absent}'] } }, 'definition.body: {absent}'],
    [{ body: { type: 'json', template: { a: '{{secret:A}}' } } }, 'definition.body: secrets belong'],
    [{ body: { type: 'text', template: 'x', contentType: 'a\r\nb' } }, 'definition.body.contentType'],
    [{ result: '$[?(@.a)]' }, 'definition.result: it cannot be read'],
    [{ result: `$${'.a'.repeat(21)}` }, 'definition.result: it has more than 20 steps'],
    [{ result: `$[${'*,'.repeat(20)}0]` }, 'definition.result: it picks more than 20 things at once'],
    [{ timeoutMs: 0 }, 'definition.timeoutMs'],
    [{ maxBytes: 100_000_000 }, 'definition.maxBytes'],
    [{ onUnknown: 'verify' }, 'definition.onUnknown: the definition has no verify'],
    [{ verify: { url: 'https://a.test/{id}' } }, 'definition.verify.url: {id}'],
    [{ verify: { ...verify, result: 'x' } }, 'definition.verify.result'],
  ])('refuses %j', (changes, problem) => {
    expect(problemOf(changes)).toContain(problem);
  });

  it('ignores the member `__proto__` of a definition', () => {
    const input = JSON.parse(`{"__proto__": {"url": "https://evil.test/"}, "name": "a"}`) as object;
    expect(() => parseHttpTool(input)).toThrow('definition.description');
  });
});
