import { describe, expect, it } from '@jest/globals';

import { Secret } from '#platform';

import { secretNamesOf, toHttpRequest, toVerifyRequest } from './http-tool.executor.js';
import { parseHttpTool } from './http-tool.js';

const properties = { id: {}, text: {}, list: {}, flag: {} };
const base = {
  name: 't',
  description: 'd',
  method: 'POST',
  url: 'https://a.test/{id}',
  parameters: { type: 'object', properties },
};
const secrets = new Map([['TOKEN', new Secret('canary {text}')], ['BAD', new Secret('line\r\nbreak')]]); // prettier-ignore

function request(changes: object, args: Record<string, unknown>) {
  const tool = parseHttpTool({ ...base, ...changes });
  return toHttpRequest(tool, { args, secrets, idempotencyKey: 'job:1:2', epoch: 3 });
}

describe('toHttpRequest', () => {
  it('sends key and epoch, and the arguments without a place in URL and headers as JSON', () => {
    expect(request({}, { id: 1, text: 'x', list: [1] })).toEqual({
      method: 'POST',
      url: new URL('https://a.test/1'),
      headers: { 'idempotency-key': 'job:1:2', 'x-job-epoch': '3', 'content-type': 'application/json' },
      body: '{"text":"x","list":[1]}',
    });
  });

  it.each(['GET', 'DELETE'])('sends no body with %s', (method) => {
    expect(request({ method }, { id: 1, text: 'x' })).not.toHaveProperty('body');
  });

  it('rejects a call whose placeholders would insert more than 1 MiB', () => {
    const body = { type: 'text', template: '{text}'.repeat(100) };
    expect(request({ body }, { id: 1, text: 'x'.repeat(10_000) }).body).toHaveLength(1_000_000);
    expect(() => request({ body }, { id: 1, text: 'x'.repeat(60_000) })).toThrow('more than 1048576 characters');
    const headers = [{ name: 'x-a', value: '{text}'.repeat(500) }];
    expect(() => request({ headers }, { id: 1, text: 'x'.repeat(60_000) })).toThrow('more than 1048576 characters');
  });

  it('fills a JSON template with values and texts', () => {
    const template = { a: '{list}', b: 'is {id} {flag}', c: ['{text}'], d: { e: '{text}' }, f: 1, g: '{flag}' };
    expect(request({ body: { type: 'json', template } }, { id: 1, list: [1, { b: 2 }], flag: false }).body).toBe(
      '{"a":[1,{"b":2}],"b":"is 1 false","c":[null],"d":{},"f":1,"g":false}',
    );
  });

  it('escapes an argument inside a JSON text', () => {
    const body = { type: 'json', template: { a: 'x {text}', b: 1 } };
    expect(JSON.parse(String(request({ body }, { id: 1, text: '", "b": 2, "' }).body))).toEqual({
      a: 'x ", "b": 2, "',
      b: 1,
    });
  });

  it('sends forms', () => {
    const { body, headers } = request({ body: { type: 'form' } }, { id: 1, text: 'a&b=c', list: ['x', 'y'] });
    expect([body, headers?.['content-type']]).toEqual([
      'text=a%26b%3Dc&list=x%2Cy',
      'application/x-www-form-urlencoded',
    ]);
    expect(request({ body: { type: 'form', template: { a: '{text}' } } }, { id: 1, text: 'ü' }).body).toBe('a=%C3%BC');
  });

  it('sends text', () => {
    const body = { type: 'text', template: '<id>{id}</id>', contentType: 'application/xml' };
    expect(request({ body }, { id: 'a<b' })).toMatchObject({
      body: '<id>a<b</id>',
      headers: { 'content-type': 'application/xml' },
    });
  });

  it('inserts secrets and arguments into headers, and expands neither inside the other', () => {
    const headers = [{ name: 'X-Auth', value: 'A {{secret:TOKEN}} B {text} C' }];
    expect(request({ headers }, { id: 1, text: '{{secret:TOKEN}} {id}' }).headers).toMatchObject({
      'x-auth': 'A canary {text} B {{secret:TOKEN}} {id} C',
    });
    expect(secretNamesOf(parseHttpTool({ ...base, headers }))).toEqual(['TOKEN']);
  });

  it('omits a header whose argument is absent', () => {
    const headers = [{ name: 'X-Text', value: 'a {text}' }];
    expect(request({ headers }, { id: 1 }).headers).not.toHaveProperty('x-text');
  });

  it.each(['a\r\nX-Evil: 1', 'a\nb', 'ü', 'a\0b', '\ud800'])('refuses %j in a header', (text) => {
    const headers = [{ name: 'X-Text', value: '{text}' }];
    expect(() => request({ headers }, { id: 1, text })).toThrow('has characters that a header cannot contain');
  });

  it('rejects a secret that is invalid in a header, without revealing it', () => {
    const headers = [{ name: 'X-Text', value: '{{secret:BAD}}' }];
    expect(() => request({ headers }, { id: 1 })).toThrow(
      'the secret "BAD" has characters that a header cannot contain',
    );
  });

  it('builds the request for the outcome of a call from its key', () => {
    const verify = {
      url: 'https://a.test/calls?key={idempotencyKey}',
      headers: [{ name: 'A', value: '{{secret:TOKEN}}' }],
    };
    const tool = parseHttpTool({ ...base, verify });
    if (tool.verify === undefined) throw new Error('it is given above');
    const args = { idempotencyKey: 'job:1:2' };
    expect(toVerifyRequest(tool.verify, { args, secrets, idempotencyKey: 'job:1:2', epoch: 3 })).toMatchObject({
      method: 'GET',
      url: new URL('https://a.test/calls?key=job%3A1%3A2'),
      headers: { a: 'canary {text}', 'idempotency-key': 'job:1:2' },
    });
  });
});
