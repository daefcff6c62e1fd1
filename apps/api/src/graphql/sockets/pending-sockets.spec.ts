import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';

import { describe, expect, it } from '@jest/globals';
import type { WebSocket } from 'ws';

import { PendingSockets } from './pending-sockets.js';

const socketOf = () => Object.assign(new EventEmitter(), { terminate: () => undefined }) as unknown as WebSocket;

describe('PendingSockets', () => {
  it('admits each upgrade below the limit, and at the limit as many a second as the limit', () => {
    const pending = new PendingSockets(3);
    const open = (count: number, now: number) =>
      Array.from({ length: count }, () => {
        const isAdmitted = pending.admits(now);
        if (isAdmitted) pending.add(socketOf(), new PassThrough());
        return isAdmitted;
      }).filter(Boolean).length;
    expect(open(100, 1_000)).toBe(6);
    expect(open(100, 1_000)).toBe(0);
    expect(open(100, 2_000)).toBe(3);
    expect(pending.size).toBe(3);
  });
});
