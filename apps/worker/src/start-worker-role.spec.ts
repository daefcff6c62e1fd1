import { afterEach, describe, expect, it } from '@jest/globals';

import { HealthServer } from './start-worker-role.js';

const opened: HealthServer[] = [];
const plugins = [{ name: 'acme', hash: 'a1' }];
const source = {
  isReady: () => Promise.resolve(true),
  plugins: () => plugins,
  metrics: () => Promise.resolve('up 1\n'),
};

async function listen(changes: Partial<typeof source> = {}): Promise<string> {
  const server = await HealthServer.listen({ ...source, ...changes }, '127.0.0.1', 0);
  opened.push(server);
  return server.url;
}

describe('HealthServer', () => {
  afterEach(async () => {
    for (const server of opened.splice(0)) await server.close();
  });

  it('returns 200 at /healthz while the process responds', async () => {
    expect((await fetch(`${await listen()}/healthz`)).status).toBe(200);
  });

  it.each([
    [true, 200],
    [false, 503],
  ])('returns readiness %s with the status %i', async (ready, status) => {
    const url = await listen({ isReady: () => Promise.resolve(ready) });

    const response = await fetch(`${url}/readyz?x=1`);
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ status: ready ? 'ready' : 'not_ready', plugins });
  });

  it('serves metrics in the Prometheus text format', async () => {
    const response = await fetch(`${await listen()}/metrics`);

    expect(response.headers.get('content-type')).toContain('version=0.0.4');
    expect(await response.text()).toBe('up 1\n');
  });

  it('returns 500 without the error when collecting metrics fails', async () => {
    const url = await listen({ metrics: () => Promise.reject(new Error('canary')) });
    const response = await fetch(`${url}/metrics`);

    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('canary');
  });

  it('responds 404 on other paths', async () => {
    expect((await fetch(`${await listen()}/secret`)).status).toBe(404);
  });

  it('reports when its port is in use', async () => {
    const { port } = new URL(await listen());

    await expect(HealthServer.listen(source, '127.0.0.1', Number(port))).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});
