import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';

import { describe, expect, it } from '@jest/globals';

import { markAuthenticated } from '#auth/api';
import { ManualClock } from '#platform';

import { clientAddressKeys } from './client-address.js';
import { RefusalDelay } from './refusal-delay.js';

const perSecond = 20;
const validKey = 'Bearer valid';

class TestSocket extends EventEmitter {
  isDestroyed = false;

  constructor(readonly remoteAddress: string) {
    super();
  }

  destroy(): void {
    this.isDestroyed = true;
  }
}

function open() {
  const clock = new ManualClock(0);
  const outcomes: string[] = [];
  const isValid = (authorization: string) => Promise.resolve(authorization === validKey);
  const delay = new RefusalDelay({
    ...{ perSecond, isValid, clock },
    addressKeyOf: clientAddressKeys([]),
    count: (outcome) => outcomes.push(outcome),
  });
  /** One refused request of its own connection. */
  const refuse = ({ address = '192.0.2.1', status = 401, authorization, isMarked = false }: Refused = {}) => {
    const socket = new TestSocket(address);
    const request = { socket, headers: { authorization } } as unknown as IncomingMessage; // what the delay reads
    if (isMarked) markAuthenticated(request, 'a user');
    const response = new EventEmitter();
    const sent = { socket, response, isSent: false };
    const send = () => (sent.isSent = true);
    delay.respond({ request, response: response as ServerResponse, status, send });
    return sent;
  };
  const refuseMany = (count: number, refused?: Refused) => Array.from({ length: count }, () => refuse(refused));
  return { clock, delay, outcomes, refuse, refuseMany };
}

interface Refused {
  readonly address?: string;
  readonly status?: number;
  readonly authorization?: string;
  readonly isMarked?: boolean;
}

/** Lets promises that are settled run on. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('RefusalDelay', () => {
  it('delays responses beyond the rate of an address by a second', async () => {
    const { clock, refuse, refuseMany } = open();
    expect(refuseMany(perSecond).every(({ isSent }) => isSent)).toBe(true);
    const late = refuse();
    clock.advance(999);
    await settle();
    expect(late.isSent).toBe(false);
    clock.advance(1);
    await settle();
    expect(late.isSent).toBe(true);
    // A second has passed without a refusal.
    expect(refuseMany(perSecond).every(({ isSent }) => isSent)).toBe(true);
  });

  it('limits each address on its own, and the network of an IPv6 address as one', () => {
    const { refuse, refuseMany } = open();
    refuseMany(perSecond, { address: '2001:db8:0:1::1' });
    expect(refuse({ address: '2001:db8:0:1::2' }).isSent).toBe(false);
    expect(refuse({ address: '2001:db8:0:2::1' }).isSent).toBe(true);
    refuseMany(perSecond, { address: '::ffff:192.0.2.1' });
    expect(refuse({ address: '192.0.2.1' }).isSent).toBe(false);
    expect(refuse({ address: '192.0.2.2' }).isSent).toBe(true);
  });

  it('sends every response to a request with a valid credential at once', async () => {
    const { refuse, refuseMany, outcomes } = open();
    refuseMany(perSecond);
    expect(refuse({ isMarked: true, status: 404 }).isSent).toBe(true);
    const unmarked = refuse({ status: 404, authorization: validKey });
    const wrong = refuse({ status: 404, authorization: 'Bearer wrong' });
    await settle();
    expect([unmarked.isSent, wrong.isSent]).toEqual([true, false]);
    expect(outcomes).toEqual(['delayed']);
  });

  it('delays no success and no server error', () => {
    const { refuse, refuseMany } = open();
    refuseMany(perSecond);
    expect([200, 500, 503].map((status) => refuse({ status }).isSent)).toEqual([true, true, true]);
  });

  it('closes connections without a response while 500 responses are delayed', async () => {
    const { clock, delay, refuse, refuseMany, outcomes } = open();
    const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
    for (const address of addresses) refuseMany(perSecond, { address });
    const late = addresses.slice(1).flatMap((address) => refuseMany(250, { address }));
    const extra = refuse();
    await settle();
    expect([delay.size, extra.isSent, extra.socket.isDestroyed]).toEqual([500, false, true]);
    expect(outcomes.filter((outcome) => outcome === 'closed')).toHaveLength(1);
    clock.advance(1_000);
    await settle();
    expect(late.every(({ isSent, socket }) => isSent && !socket.isDestroyed)).toBe(true);
    expect(delay.size).toBe(0);
  });

  it('closes connections of an address with 250 delayed responses, and counts it as crowded until they leave', async () => {
    const { clock, delay, refuse, refuseMany } = open();
    const address = '192.0.2.1';
    refuseMany(perSecond);
    const late = refuseMany(250);
    await settle();
    expect(delay.isCrowded(address)).toBe(true);
    const extra = refuse();
    await settle();
    expect(extra.socket.isDestroyed).toBe(true);
    refuseMany(perSecond, { address: '192.0.2.2' });
    const { socket } = refuse({ address: '192.0.2.2' });
    clock.advance(1_000);
    await settle();
    expect([socket.isDestroyed, late.every(({ isSent }) => isSent)]).toEqual([false, true]);
    expect(delay.isCrowded(address)).toBe(false);
  });

  it('ends the delay when the client disconnects', async () => {
    const { clock, delay, refuse, refuseMany } = open();
    refuseMany(perSecond);
    refuse().response.emit('close');
    await settle();
    expect([delay.size, clock.pending]).toEqual([0, 0]);
  });
});
