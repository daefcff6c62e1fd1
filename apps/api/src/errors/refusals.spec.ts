import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, describe, expect, it } from '@jest/globals';
import express from 'express';

import { type Logger, ManualClock, Metrics } from '#platform';
import { noteRefusal } from '#platform/api';

import { refusalsMiddleware } from './refusals.js';

let server: Server | undefined;

afterEach(() => {
  server?.close();
});

/** A server that refuses each request for the reason that its path ends with. Returns its URL and the fields of its log lines. */
async function refuse(clock: ManualClock) {
  const lines: object[] = [];
  const logger = { warn: (fields: object) => lines.push(fields) } as unknown as Logger; // the middleware only warns
  const app = express();
  app.use(refusalsMiddleware({ metrics: new Metrics(), logger, clock }));
  app.post('/hooks/:id', (request, response) => {
    noteRefusal(response, request.path.slice('/hooks/'.length));
    response.status(401).send('Unauthorized');
  });
  app.use('/graphql', (_, response) => {
    response.status(401).send('Unauthorized');
  });
  const listening = app.listen(0, '127.0.0.1');
  server = listening;
  await new Promise((resolve) => listening.once('listening', resolve));
  const { port } = listening.address() as AddressInfo; // it listens on a port
  const origin = `http://127.0.0.1:${port}`;
  return { origin, url: `${origin}/hooks`, lines };
}

describe('refusalsMiddleware', () => {
  it('logs the API and the path of a request that a mounted middleware refuses', async () => {
    const { origin, lines } = await refuse(new ManualClock());
    await fetch(`${origin}/graphql?query=x`);
    expect(lines).toMatchObject([{ api: 'graphql', path: '/graphql' }]);
  });

  it('logs the reason of a refused request, and at most one line of a kind in ten seconds', async () => {
    const clock = new ManualClock();
    const { url, lines } = await refuse(clock);
    const send = (reason: string) => fetch(`${url}/${reason}`, { method: 'POST' });
    expect(await (await send('stale')).text()).toBe('Unauthorized');
    await send('unlogged');
    clock.advance(10_000);
    await send('unsigned');
    expect(lines).toMatchObject([
      { status: 401, path: '/hooks/stale', reason: 'stale', unloggedBefore: 0 },
      { status: 401, path: '/hooks/unsigned', reason: 'unsigned', unloggedBefore: 1 },
    ]);
  });
});
