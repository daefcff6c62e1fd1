import { describe, expect, it } from '@jest/globals';

import { startHttpTarget, type TargetHandler } from '../../../../test/harness/http-target.js';
import { leading, OutboundFixture } from '../../../../test/harness/outbound-fixture.js';

const given = new OutboundFixture();

const hello: TargetHandler = (_, response) => response.end('hello');
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

describe('Redirects of GuardedFetch', () => {
  const to = (location: string, status = 302): void => {
    const first = { done: false };
    given.handler = (request, response) => {
      if (first.done || request.path === '/end') response.end(`at ${request.method} ${request.path}`);
      else response.writeHead(status, { location }).end();
      first.done = true;
    };
  };
  const follow = { limits: { maxRedirects: 5 } };

  it('count as responses unless following is requested', async () => {
    to('/end');
    expect(await given.ask()).toMatchObject({ status: 302, headers: { location: '/end' } });
  });

  it('lead to their target when following is requested', async () => {
    to('/end');
    const answer = await given.ask(follow);
    expect([text(answer.body), answer.url]).toEqual(['at GET /end', `${given.target.url}/end`]);
  });

  it.each(['http://127.0.0.1:{port}/', 'http://[::1]:{port}/', 'http://0x7f.1:{port}/', '//[::ffff:7f00:1]:{port}/'])(
    'fail when they lead to %s',
    async (location) => {
      to(location.replace('{port}', String(given.target.port)));
      // 127.0.0.2 stands for a public server: it alone is let through.
      const lookup = leading(['127.0.0.2']);
      const asked = given.client({
        ports: [given.target.port],
        lookup,
        allowPrivate: (address) => address === '127.0.0.2',
      });
      const url = `http://public.test:${given.target.port}/`;
      await expect(asked.request({ url, ...follow })).rejects.toMatchObject({ code: 'address_refused' });
      expect(given.target.requests).toHaveLength(1);
    },
  );

  it.each(['file:///etc/passwd', 'ftp://a.test/', 'gopher://a.test/', 'javascript:1', 'http://u:p@a.test/'])(
    'fail when they lead to %s',
    async (location) => {
      to(location);
      await expect(given.ask(follow)).rejects.toMatchObject({ code: 'outbound_url_refused' });
    },
  );

  it('fail when they leave the list of hosts', async () => {
    to('http://elsewhere.test/');
    await expect(given.ask({ ...follow, hosts: ['127.0.0.1'] })).rejects.toMatchObject({
      code: 'outbound_host_refused',
    });
  });

  it('send no header that may contain a secret to another origin', async () => {
    const other = await startHttpTarget(hello);
    const headers = { authorization: 'Bearer a', cookie: 'b', 'x-api-key': 'c', accept: 'text/plain' };
    to(`${other.url}/end`);
    await given.ask({ ...follow, headers });
    to('/end');
    await given.ask({ ...follow, headers });
    await other.close();
    const kept = (all: object | undefined) => Object.keys(all ?? {}).filter((name) => Object.hasOwn(headers, name));
    expect(kept(other.requests[0]?.headers)).toEqual(['accept']);
    expect(kept(given.target.requests.at(-1)?.headers).sort()).toEqual([
      'accept',
      'authorization',
      'cookie',
      'x-api-key',
    ]);
  });

  it('send a body again only to the same origin', async () => {
    const other = await startHttpTarget(hello);
    const post = { ...follow, method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } };
    to(`${other.url}/end`, 307);
    await expect(given.ask(post)).rejects.toMatchObject({ code: 'outbound_redirect_refused' });
    to(`${other.url}/end`, 303);
    await given.ask(post);
    expect(other.requests).toMatchObject([{ method: 'GET', body: '' }]);
    expect(other.requests[0]?.headers).not.toHaveProperty('content-type');
    to('/end', 308);
    await given.ask(post);
    expect(given.target.requests.at(-1)).toMatchObject({ method: 'POST', body: '{"a":1}', path: '/end' });
    await other.close();
  });

  it('fail after the maximum number of redirects', async () => {
    given.handler = (_, response) => response.writeHead(302, { location: '/on' }).end();
    await expect(given.ask(follow)).rejects.toMatchObject({ code: 'outbound_redirect_refused' });
    expect(given.target.requests).toHaveLength(6);
  });
});
