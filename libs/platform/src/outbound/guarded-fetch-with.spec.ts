import { gzipSync } from 'node:zlib';

import { describe, expect, it } from '@jest/globals';

import { OutboundFixture } from '../../../../test/harness/outbound-fixture.js';
import { until } from '../../../../test/harness/until.js';
import type { GuardedFetch } from './guarded-fetch.js';

const given = new OutboundFixture();

const zeros = Buffer.alloc(4_000_000);

describe('GuardedFetch.fetchWith', () => {
  const fetchIt = (...policy: Parameters<GuardedFetch['fetchWith']>) =>
    given.client({ allowPrivate: true }).fetchWith(...policy);

  it('returns a Response like fetch', async () => {
    given.answering(404, { 'content-type': 'application/json', 'content-encoding': 'gzip' }, gzipSync('{"a":1}'));
    const response = await fetchIt()(new URL(`${given.target.url}/x`), {
      method: 'POST',
      body: new URLSearchParams({ b: '2' }),
      headers: [['x-c', '3']],
    });
    expect([response.status, response.ok, response.url]).toEqual([404, false, `${given.target.url}/x`]);
    expect(await response.json()).toEqual({ a: 1 });
    expect(given.target.requests[0]).toMatchObject({ method: 'POST', body: 'b=2', headers: { 'x-c': '3' } });
  });

  it('streams a body, and ends the connection when the body is cancelled', async () => {
    given.handler = (_, response) => response.write('data: 1\n\n');
    const response = await fetchIt({ limits: { idleMs: null, totalMs: null, maxBytes: null } })(given.target.url);
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(first).toMatchObject({ value: Buffer.from('data: 1\n\n') });
    await reader?.cancel();
    await until('the connection is closed', () => given.target.open() === 0);
  });

  it('fails for a body over its limit', async () => {
    given.answering(200, {}, zeros);
    const response = await fetchIt({ limits: { maxBytes: 1_000 } })(given.target.url);
    await expect(response.arrayBuffer()).rejects.toMatchObject({ code: 'outbound_too_large' });
  });

  it('follows, rejects or returns redirects, as the options require', async () => {
    given.handler = (request, response) =>
      request.path === '/end' ? response.end('end') : response.writeHead(302, { location: '/end' }).end();
    expect(await (await fetchIt()(given.target.url)).text()).toBe('end');
    expect(await fetchIt()(given.target.url, { redirect: 'manual' })).toMatchObject({ status: 302 });
    await expect(fetchIt()(given.target.url, { redirect: 'error' })).rejects.toMatchObject({
      code: 'outbound_redirect_refused',
    });
  });

  it.each([204, 304])('returns no body with the status %i', async (status) => {
    given.answering(status, {});
    const response = await fetchIt()(given.target.url);
    expect([response.status, response.body]).toEqual([status, null]);
  });

  it('checks addresses and hosts like a request', async () => {
    await expect(given.client({ ports: [given.target.port] }).fetchWith()(given.target.url)).rejects.toMatchObject({
      code: 'address_refused',
    });
    await expect(fetchIt({ hosts: ['a.test'] })(given.target.url)).rejects.toMatchObject({
      code: 'outbound_host_refused',
    });
    expect(given.target.connections()).toBe(0);
  });

  it("ends with the caller's signal", async () => {
    given.handler = (_, response) => response.write('on and on');
    const stop = new AbortController();
    const response = await fetchIt()(given.target.url, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(response.text()).rejects.toThrow('enough');
  });
});
