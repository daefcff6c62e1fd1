import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { Config } from '#platform';

import { WebhookClient } from './webhook-client.js';

const limits = { headers: {}, body: '{}', timeoutMs: 2_000 };

describe('WebhookClient', () => {
  let server: Server;
  let port: number;
  let connections = 0;
  const clients: WebhookClient[] = [];

  const client = (env: Readonly<Record<string, string>> = {}): WebhookClient => {
    const opened = new WebhookClient(Config.from({ NODE_ENV: 'test', OUTBOUND_PORTS: String(port), ...env }));
    clients.push(opened);
    return opened;
  };

  beforeAll(async () => {
    server = createServer((_, response) => response.end('ok'));
    server.on('connection', () => (connections += 1));
    await new Promise<void>((resolve) => server.listen(0, '::', resolve)); // for IPv4 and IPv6
    ({ port } = server.address() as AddressInfo); // it listens on TCP
  });
  afterAll(async () => {
    await Promise.all(clients.map((opened) => opened.onApplicationShutdown()));
    await new Promise((resolve) => server.close(resolve));
  });

  it('refuses http:// without WEBHOOKS_ALLOW_HTTP, at the check and at the send, and opens no connection', async () => {
    const env = { WEBHOOKS_ALLOW_CIDRS: '127.0.0.0/8' };
    const url = `http://127.0.0.1:${port}/`;
    const refused = client(env);
    await expect(refused.check(url)).rejects.toMatchObject({ code: 'bad_request', field: 'url' });
    await expect((async () => refused.post({ ...limits, url }))()).rejects.toMatchObject({
      code: 'outbound_url_refused',
    });
    expect(connections).toBe(0);
    const allowed = client({ ...env, WEBHOOKS_ALLOW_HTTP: 'true' });
    await expect(allowed.check(url)).resolves.toBeUndefined();
    expect(await allowed.post({ ...limits, url })).toMatchObject({ status: 200 });
    connections = 0;
  });

  it.each([
    ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '0', '0.0.0.0', '127.0.0.1.', '①②⑦.⓪.⓪.①'],
    ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', 'localhost'],
  ])('opens no connection to %s', async (host) => {
    const guarded = client({ WEBHOOKS_ALLOW_HTTP: 'true' });
    for (const scheme of ['http', 'https']) {
      const url = `${scheme}://${host}:${port}/`;
      await expect(guarded.check(url)).rejects.toMatchObject({ code: 'bad_request', field: 'url' });
      await expect(guarded.post({ ...limits, url })).rejects.toMatchObject({ code: 'address_refused' });
    }
    expect(connections).toBe(0);
  });
});
