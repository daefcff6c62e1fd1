import { describe, expect, it } from '@jest/globals';

import { isCrossOriginRisk } from './cross-origin.js';

const own = {
  host: 'night.example',
  origin: 'https://night.example',
  cookie: 'session=1',
  'content-type': 'application/json; charset=utf-8',
  'x-or3-cloud-intent': 'mutation',
};

describe('isCrossOriginRisk', () => {
  it('allows a call with a cookie from a page of the server with an intent header', () => {
    expect(isCrossOriginRisk({ method: 'POST', headers: own })).toBe(false);
  });

  it.each(['claim', 'validate', 'result'])('allows the header x-or3-tool-intent: %s', (intent) => {
    const headers = { ...own, 'x-or3-cloud-intent': undefined, 'x-or3-tool-intent': intent };
    expect(isCrossOriginRisk({ method: 'POST', headers })).toBe(false);
  });

  it.each([
    ['another site', { origin: 'https://evil.example' }],
    ['another port', { origin: 'https://night.example:8443' }],
    ['an opaque origin', { origin: 'null' }],
    ['no origin', { origin: undefined }],
    ['a form', { 'content-type': 'text/plain' }],
    ['a type that only begins like JSON', { 'content-type': 'application/jsonp' }],
    ['no type', { 'content-type': undefined }],
    ['no intent', { 'x-or3-cloud-intent': undefined }],
    ['a wrong intent', { 'x-or3-cloud-intent': 'query' }],
  ])('refuses a call with a cookie and %s', (_, change) => {
    expect(isCrossOriginRisk({ method: 'POST', headers: { ...own, ...change } })).toBe(true);
  });

  it('accepts requests that only read', () => {
    expect(isCrossOriginRisk({ method: 'GET', headers: { cookie: 'a=1', origin: 'https://evil.example' } })).toBe(
      false,
    );
  });

  it('allows a bearer credential without an intent header, because no browser sends it automatically', () => {
    const headers = { cookie: 'a=1', origin: 'https://evil.example', authorization: 'Bearer x' };
    expect(isCrossOriginRisk({ method: 'POST', headers })).toBe(false);
  });

  it('allows a call without a cookie and without an intent header', () => {
    expect(isCrossOriginRisk({ method: 'POST', headers: {} })).toBe(false);
  });
});
