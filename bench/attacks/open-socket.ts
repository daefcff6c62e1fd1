import WebSocket from 'ws';

import type { AttackBounds, AttackTarget } from './attack.js';

/** Opens a GraphQL WebSocket, signed in with the attacker's key unless `signsIn` is false. Null: the server refused it, or the attack is over. */
export async function openSocket(
  { url, apiKey }: AttackTarget,
  { signal }: AttackBounds,
  signsIn = true,
): Promise<WebSocket | null> {
  if (signal.aborted) return null;
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  socket.on('error', () => undefined); // the close that follows is counted
  const abort = () => {
    socket.terminate();
  };
  signal.addEventListener('abort', abort, { once: true });
  socket.once('close', () => {
    signal.removeEventListener('abort', abort);
  });
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once('close', () => {
      resolve(false);
    });
    if (signsIn) {
      socket.once('message', () => {
        resolve(true);
      });
    }
    socket.once('open', () => {
      if (signsIn) socket.send(JSON.stringify({ type: 'connection_init', payload: { apiKey } }));
      else resolve(true);
    });
  });
  return isOpen ? socket : null;
}

/** Resolves with how the connection ended. */
export async function closeOf(socket: WebSocket): Promise<string> {
  if (socket.readyState === WebSocket.CLOSED) return 'closed';
  return new Promise((resolve) => {
    socket.once('close', (code) => {
      resolve(`close ${code}`);
    });
  });
}
