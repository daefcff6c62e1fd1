import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';

import { describe, expect, it } from '@jest/globals';
import type { WebSocket } from 'ws';

import { ManualClock } from '#platform';

import { PendingSockets } from './graphql-socket.gateway.js';

const socketOf = () => Object.assign(new EventEmitter(), { terminate: () => undefined }) as unknown as WebSocket;

describe('PendingSockets', () => {
  const open = () => {
    const clock = new ManualClock();
    const pending = new PendingSockets(3, clock);
    const add = () => {
      const socket = socketOf();
      pending.add(socket, new PassThrough());
      return socket;
    };
    return { clock, pending, add };
  };

  it('accepts connections below the limit, and again when connection_init of a connection is accepted', () => {
    const { pending, add } = open();
    const first = add();
    add();
    expect(pending.hasRoom).toBe(true);
    add();
    expect(pending.hasRoom).toBe(false);
    add(); // replaces the first
    expect(pending.size).toBe(3);
    pending.remove(first);
    expect(pending.hasRoom).toBe(false);
    pending.remove(add());
    expect([pending.size, pending.hasRoom]).toEqual([2, true]);
  });

  it('counts a connection that ends without connection_init for three seconds more', () => {
    const { clock, pending, add } = open();
    for (let i = 0; i < 3; i++) add().emit('close');
    expect([pending.size, pending.hasRoom]).toEqual([0, false]);
    clock.advance(2_999);
    expect(pending.hasRoom).toBe(false);
    clock.advance(1);
    expect([pending.hasRoom, clock.pending]).toEqual([true, 0]);
  });

  it('forgets a connection at once that ends after connection_init', () => {
    const { clock, pending, add } = open();
    for (let i = 0; i < 10; i++) {
      const socket = add();
      pending.remove(socket);
      socket.emit('close');
    }
    expect([pending.size, pending.hasRoom, clock.pending]).toEqual([0, true, 0]);
  });
});
