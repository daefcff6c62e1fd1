import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';

import { afterEach, expect, it } from '@jest/globals';
import express from 'express';

import { assertReadable, countTextsFor, TextsInMemory } from '#platform';

import { unsentResponsesMiddleware } from './unsent-responses.js';

const mebibyte = 1_048_576;
const closing: (() => void)[] = [];

afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A server whose handler responds with the number of MiB in the path. */
async function start(slowMs: number) {
  const app = express();
  app.use(unsentResponsesMiddleware(new TextsInMemory(), slowMs));
  app.get('/:size', (request, response) => {
    countTextsFor('a user');
    const bytes = Number(request.params.size) * mebibyte;
    try {
      assertReadable(bytes);
      response.send('a'.repeat(bytes));
    } catch {
      response.status(429).end();
    }
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // the server listens on TCP
  /** A client that reads only the beginning of its response; `closed` resolves when the server has closed the connection. */
  const requestUnread = async (size: number) => {
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const socket = connect(port, '127.0.0.1');
    closing.push(() => socket.destroy());
    socket.write(`GET /${size} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const [serverSide] = await accepted;
    const closed = new Promise((resolve) => serverSide.once('close', resolve));
    await once(socket, 'readable');
    return { socket, closed };
  };
  return { url: `http://127.0.0.1:${port}`, requestUnread };
}

it('an unread response counts until its client disconnects', async () => {
  const { url, requestUnread } = await start(60_000);
  const { socket, closed } = await requestUnread(40);
  expect((await fetch(`${url}/40`)).status).toBe(429);
  expect((await fetch(`${url}/1`)).status).toBe(200);
  socket.destroy();
  await closed;
  expect((await fetch(`${url}/40`)).status).toBe(200);
});

it('a client that does not read a complete response is disconnected', async () => {
  const { url, requestUnread } = await start(50);
  const { socket, closed } = await requestUnread(40);
  await closed;
  expect(socket.bytesRead).toBeLessThan(40 * mebibyte);
  expect((await fetch(`${url}/40`)).status).toBe(200);
});
