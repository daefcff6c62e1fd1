import { describe, expect, it } from '@jest/globals';

import { leading, OutboundFixture } from '../../../../test/harness/outbound-fixture.js';
import { Config } from '../config/config.js';
import { GuardedFetch } from './guarded-fetch.js';

const given = new OutboundFixture();

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

describe('GuardedFetch', () => {
  it('returns status, headers, body and the final URL', async () => {
    given.answering(201, { 'x-one': 'two' }, 'made');
    const answer = await given.ask({
      url: `${given.target.url}/a?b=c`,
      method: 'POST',
      body: 'sent',
      headers: { 'X-Key': 'k' },
    });
    expect(answer).toMatchObject({ status: 201, url: `${given.target.url}/a?b=c`, isCut: false });
    expect([text(answer.body), answer.headers['x-one']]).toEqual(['made', 'two']);
    expect(given.target.requests[0]).toMatchObject({ method: 'POST', path: '/a?b=c', body: 'sent' });
    expect(given.target.requests[0]?.headers).toMatchObject({ 'x-key': 'k', 'user-agent': 'nightshift' });
  });

  describe('with a check of addresses', () => {
    it.each([
      '127.0.0.1', '2130706433', '0x7f000001', '0x7f.1', '127.1', '0177.0.0.1', '017700000001', '0', '0.0.0.0', '①②⑦.⓪.⓪.①',
      '127。0。0。1', '%31%32%37.1', '[::1]', '[::]', '[::ffff:7f00:1]', '[::ffff:127.0.0.1]', '[::127.0.0.1]', '[::ffff:0:7f00:1]',
      '[64:ff9b::7f00:1]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2001:0:7f00:1::]', '[fe80::1]', '[fec0::1]', '[fd00::1]', '[ff02::1]',
      '[100::1]', '[4000::1]', 'localhost', 'LocalHost', '10.0.0.1', '172.16.0.1', '192.168.0.1', '169.254.169.254', '100.64.0.1',
      '198.18.0.1', '192.0.2.1', '224.0.0.1', '255.255.255.255',
    ])('opens no connection for http://%s, and does not reveal the address', async (host) => {
      const url = `http://${host}:${given.target.port}/`;
      const asked = given.client({ ports: [given.target.port] });
      for (const ask of [() => asked.request({ url }), () => asked.fetchWith()(url)]) {
        await expect(ask()).rejects.toMatchObject({
          code: 'address_refused',
          message: 'This address is not public. Use a public address.',
        });
      }
      expect(given.target.connections()).toBe(0);
    }); // prettier-ignore

    it('refuses a name if one of its addresses is loopback', async () => {
      for (const found of [['127.0.0.1'], ['93.184.215.14', '127.0.0.1'], ['2606:4700::1111', '::ffff:127.0.0.1']]) {
        const asked = given.client({ ports: [given.target.port], lookup: leading(found) });
        const url = `http://inside.test:${given.target.port}/`;
        await expect(asked.request({ url })).rejects.toMatchObject({ code: 'address_refused' });
      }
      expect(given.target.connections()).toBe(0);
    });

    it('checks the addresses of each lookup when DNS changes', async () => {
      const lookup = leading(['127.0.0.1'], ['10.0.0.1'], ['::1']);
      const asked = given.client({ ports: [given.target.port], lookup });
      for (let i = 0; i < 4; i++) {
        await expect(asked.request({ url: `http://turning.test:${given.target.port}/` })).rejects.toMatchObject({
          code: 'address_refused',
        });
      }
      expect(given.target.connections()).toBe(0);
    });

    it('resolves a name once for a request, so that a later DNS change has no effect', async () => {
      const lookup = leading(['127.0.0.1'], ['10.0.0.1']);
      const answer = await given.ask({ url: `http://once.test:${given.target.port}/` }, { lookup });
      expect([answer.status, given.target.connections()]).toEqual([200, 1]);
    });

    it('gives the same error for a name without addresses as for a private one', async () => {
      const asked = given.client({ lookup: leading([]) });
      await expect(asked.request({ url: 'http://none.test/' })).rejects.toMatchObject({ code: 'address_refused' });
    });

    it('connects to private addresses only if the operator allows it, and never in production', async () => {
      const strict = GuardedFetch.from(Config.from({}));
      const open = GuardedFetch.from(Config.from({ ALLOW_PRIVATE_TOOL_URLS: 'true' }));
      given.client(strict);
      given.client(open);
      await expect(strict.request({ url: 'http://127.0.0.1/' })).rejects.toMatchObject({ code: 'address_refused' });
      expect(await open.request({ url: given.target.url })).toMatchObject({ status: 200 });
      expect(() => Config.from({ ALLOW_PRIVATE_TOOL_URLS: 'true', NODE_ENV: 'production' })).toThrow(
        'ALLOW_PRIVATE_TOOL_URLS must be off',
      );
    });
  });

  describe('with a check of URLs and requests', () => {
    it.each([
      ['ftp://a.test/', 'http'],
      ['file:///etc/passwd', 'http'],
      ['http://user:pass@a.test/', 'name or password'],
      ['nonsense', 'not a valid URL'],
      [`http://a.test/${'x'.repeat(9_000)}`, 'not a valid URL'],
      ['http://a.test:22/', 'port 22', 'outbound_port_refused'],
      ['https://a.test:6379/', 'port 6379', 'outbound_port_refused'],
    ])('refuses %s', async (url, reason, code = 'outbound_url_refused') => {
      for (const ask of [() => given.client().request({ url }), () => given.client().fetchWith()(url)]) {
        await expect(ask()).rejects.toMatchObject({
          code,
          message: expect.stringContaining(reason),
        });
      }
    });

    it('connects only to hosts on the list', async () => {
      const lookup = leading(['127.0.0.1']);
      const go = (host: string, hosts: string[]) =>
        given.ask({ url: `http://${host}:${given.target.port}/`, hosts }, { lookup });
      const hosts = ['api.test', '*.wide.test'];
      for (const host of ['api.test', 'API.test.', 'a.wide.test', 'a.b.wide.test']) {
        expect(await go(host, hosts)).toMatchObject({ status: 200 });
      }
      for (const host of ['wide.test', 'xapi.test', 'evilwide.test', 'api.test.evil.test', '127.0.0.1']) {
        await expect(go(host, hosts)).rejects.toMatchObject({ code: 'outbound_host_refused' });
      }
    });

    it.each([
      { headers: { 'x-a': 'b\r\nx-c: d' } },
      { headers: { 'x a': 'b' } },
      { headers: { 'x-a': 'ü€' } },
      { method: 'GET / HTTP/1.1\r\nx: y' },
      { method: 'CONNECT' },
    ])('rejects headers and methods that HTTP does not allow: %j', async (request) => {
      await expect(given.ask(request)).rejects.toMatchObject({ code: 'outbound_request_invalid' });
      expect(given.target.connections()).toBe(0);
    });

    it('ignores headers of the connection', async () => {
      await given.ask({ headers: { Host: 'inside', 'Transfer-Encoding': 'chunked', 'content-length': '7' } });
      expect(given.target.requests[0]?.headers).toMatchObject({ host: `127.0.0.1:${given.target.port}` });
      expect(given.target.requests[0]?.headers).not.toHaveProperty('transfer-encoding');
    });

    it('reports an unreachable server without its address', async () => {
      const { port } = given.target;
      await given.target.close();
      const attempt = given.client({ allowPrivate: true }).request({ url: `http://127.0.0.1:${port}` });
      await expect(attempt).rejects.toMatchObject({
        code: 'outbound_unreachable',
        message: 'The server cannot be reached. Check the address, or try again later.',
      });
    });
  });
});
