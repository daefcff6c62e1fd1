import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import type { Clock } from '#platform';
import { CallerTurns } from '#platform/api';

import type { ClientAddressKey } from '../../refusals/client-address.js';
import type { RefusalDelay } from '../../refusals/refusal-delay.js';

/** Time on the event loop for one handshake, including the close of the connection that it replaces, in ms. */
const upgradeMs = 0.4;
/** Time on the event loop for a new connection whose request is rejected, in ms. */
const connectionMs = 0.4;
/** Upgrades that this process accepts without a handshake slot before its other work runs. */
const maxAtOnce = 25;
/** Maximum share of the waiting upgrades that one address may have. */
const addressShare = 0.5;
/** Maximum connections that are not read, as a multiple of the upgrades that may wait. One takes about 10 KB. */
const unreadPerWaiting = 8;

/**
 * Queues upgrades per address, so that many connections that never send `connection_init` cannot take more than their share of the event
 * loop. While an address is at its limit, of upgrades or of refused requests, the server also reads its new connections one by one: rejecting
 * them at once costs more than the handshakes, because rejected clients reconnect at once.
 */
export class UpgradeTurns {
  private readonly turns: CallerTurns;
  private waiting = 0;
  private readonly waitingOf = new Map<string, number>();
  private unread = 0;
  private atOnce = 0;

  /** `max`: upgrades that may wait. `refusals` has the addresses with many refused requests. */
  constructor(
    private readonly clock: Clock,
    private readonly addressKeyOf: ClientAddressKey,
    private readonly max: number,
    private readonly refusals: Pick<RefusalDelay, 'isCrowded'>,
  ) {
    this.turns = new CallerTurns(clock);
  }

  /** Number of upgrades that wait for a handshake slot. */
  get size(): number {
    return this.waiting;
  }

  /** Number of connections that are not read yet. */
  get unreadSize(): number {
    return this.unread;
  }

  /**
   * True: accept one more upgrade without a handshake slot. False: 25 were accepted in this iteration of the event loop, and thousands of connections
   * can arrive in one.
   */
  takeNow(): boolean {
    if (this.atOnce >= maxAtOnce) return false;
    if (this.atOnce === 0) this.clock.after(0, () => (this.atOnce = 0));
    this.atOnce += 1;
    return true;
  }

  /** Calls `accept` in the next handshake slot of the request's address. False: too many upgrades wait. */
  wait(request: IncomingMessage, socket: Duplex, accept: () => void): boolean {
    const key = this.addressKeyOf(request);
    if (this.waiting >= this.max || this.isCrowded(key)) return false;
    this.count(key, 1);
    const end = () => socket.destroy();
    const leave = () => {
      socket.off('end', end).off('close', withdraw);
      this.count(key, -1);
    };
    const cancelSlot = this.turns.next(key, upgradeMs, () => {
      leave();
      accept();
    });
    const withdraw = () => {
      leave();
      cancelSlot();
    };
    socket.once('end', end).once('close', withdraw);
    return true;
  }

  /** If the address is at its limit, delays reading the new connection until a slot is free. A trusted proxy has no limit. */
  slowDown(connection: Socket): void {
    const key = this.addressKeyOf({ socket: connection, headers: {} });
    if (!this.isCrowded(key) && !this.refusals.isCrowded(key)) return;
    if (this.unread >= this.max * unreadPerWaiting) {
      connection.destroy();
      return;
    }
    this.unread += 1;
    const cancelSlot = this.turns.next(key, connectionMs, () => {
      connection.off('close', withdraw).resume();
      this.unread -= 1;
    });
    const withdraw = () => {
      cancelSlot();
      this.unread -= 1;
    };
    connection.once('close', withdraw);
    // Node's HTTP server starts to read in the ticks after this event, so the pause must come later.
    process.nextTick(() => connection.pause());
  }

  private isCrowded(key: string): boolean {
    return (this.waitingOf.get(key) ?? 0) >= this.max * addressShare;
  }

  private count(key: string, added: 1 | -1): void {
    this.waiting += added;
    const own = (this.waitingOf.get(key) ?? 0) + added;
    if (own === 0) this.waitingOf.delete(key);
    else this.waitingOf.set(key, own);
  }
}
