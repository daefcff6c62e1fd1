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
  it('passes a cookie call of our own page with an intent', () => {
    expect(isCrossOriginRisk({ method: 'POST', headers: own })).toBe(false);
  });

  it.each(['claim', 'validate', 'result'])('takes the intents of client tools: %s', (intent) => {
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
  ])('refuses a cookie call with %s', (_, change) => {
    expect(isCrossOriginRisk({ method: 'POST', headers: { ...own, ...change } })).toBe(true);
  });

  it('accepts requests that only read', () => {
    expect(isCrossOriginRisk({ method: 'GET', headers: { cookie: 'a=1', origin: 'https://evil.example' } })).toBe(
      false,
    );
  });

  it('asks nothing of a bearer credential, which no browser sends by itself', () => {
    const headers = { cookie: 'a=1', origin: 'https://evil.example', authorization: 'Bearer x' };
    expect(isCrossOriginRisk({ method: 'POST', headers })).toBe(false);
  });

  it('asks nothing of a call without a cookie', () => {
    expect(isCrossOriginRisk({ method: 'POST', headers: {} })).toBe(false);
  });
});
