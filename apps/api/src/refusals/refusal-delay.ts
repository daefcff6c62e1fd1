import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';

import { LRUCache } from 'lru-cache';

import { isMarkedAuthenticated } from '#auth/api';
import type { Clock } from '#platform';

import type { ClientAddressKey } from './client-address.js';

/** What a token bucket allows. */
interface TokenBucketLimits {
  /** The average rate. */
  readonly perSecond: number;
  /** Tokens available at once after a pause. */
  readonly burst: number;
}

/** Allows a rate on average, and a burst after a pause. Times in ms, never falling. */
class TokenBucket {
  private left: number;

  constructor(
    private at: number,
    private readonly limits: TokenBucketLimits,
  ) {
    this.left = limits.burst;
  }

  /** Takes `tokens`; false: fewer are left, and none is taken. */
  take(now: number, tokens = 1): boolean {
    const { perSecond, burst } = this.limits;
    this.left = Math.min(burst, this.left + ((now - this.at) / 1_000) * perSecond);
    this.at = now;
    if (this.left < tokens) return false;
    this.left -= tokens;
    return true;
  }
}

/** Delay of a response: a client with 50 connections gets 50 refusals a second. */
const DELAY_MS = 1_000;
/** Delayed responses of a process; one takes about 10 KB. */
const MAX_DELAYED = 500;
/** Maximum delayed responses of one address. */
const MAX_DELAYED_OF_ADDRESS = MAX_DELAYED / 2;
/** Addresses whose rate is remembered. The least recently refused one is dropped first. */
const MAX_ADDRESSES = 10_000;

/** A request that gets a status from 400 to 499. */
export interface Refusal {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly status: number;
  /** Writes the response. */
  readonly send: () => void;
}

/** What a delay needs. */
export interface RefusalDelayDependencies {
  /** Refused requests of one address a second whose responses are not delayed. */
  readonly perSecond: number;
  readonly addressKeyOf: ClientAddressKey;
  /** Whether the credential of a request is valid. Never rejects. */
  readonly isValid: (authorization: string) => Promise<boolean>;
  readonly clock: Clock;
  /** Counts responses beyond the rate. */
  readonly count: (outcome: 'delayed' | 'closed') => void;
}

/**
 * Slows down clients that flood the API with requests that it refuses. Beyond a rate per address, the response to a request without a valid
 * credential is delayed by a second. When too many responses wait, the connection is closed without one, and new connections of the address
 * are read one by one (`UpgradeTurns`). Requests with a valid credential are never delayed, because other clients may share the address
 * behind a proxy.
 */
export class RefusalDelay {
  private readonly addresses = new LRUCache<string, TokenBucket>({ max: MAX_ADDRESSES });
  private delayed = 0;
  private readonly delayedOf = new Map<string, number>();

  constructor(private readonly dependencies: RefusalDelayDependencies) {}

  /** Number of delayed responses. */
  get size(): number {
    return this.delayed;
  }

  /** Whether an address has the maximum of delayed responses. */
  isCrowded(addressKey: string): boolean {
    return (this.delayedOf.get(addressKey) ?? 0) >= MAX_DELAYED_OF_ADDRESS;
  }

  /** Sends the response now or later, or closes the connection. */
  respond(refusal: Refusal): void {
    const { request, status, send } = refusal;
    const isClientError = status >= 400 && status < 500;
    if (!isClientError || isMarkedAuthenticated(request) || this.isWithinRate(request)) send();
    else void this.respondLater(refusal);
  }

  /** Resolves with true when the server may refuse a peer without a valid credential; with false: close the connection without a response. */
  async wait(request: IncomingMessage): Promise<boolean> {
    if (this.isWithinRate(request)) return true;
    return this.waitForTurn(request, request.socket);
  }

  private async respondLater({ request, response, status, send }: Refusal): Promise<void> {
    // 401 means that the credential is missing or invalid. Other statuses carry no information about it.
    const { authorization } = request.headers;
    if (status !== 401 && authorization !== undefined && (await this.dependencies.isValid(authorization))) {
      send();
      return;
    }
    if (await this.waitForTurn(request, response)) send();
    else request.socket.destroy();
  }

  private isWithinRate(request: IncomingMessage): boolean {
    const { perSecond, addressKeyOf, clock } = this.dependencies;
    const key = addressKeyOf(request);
    const now = clock.monotonic();
    const bucket = this.addresses.get(key) ?? new TokenBucket(now, { perSecond, burst: perSecond });
    this.addresses.set(key, bucket);
    return bucket.take(now);
  }

  /** Resolves with true after the delay, or when `connection` closes; with false at once when too many wait. */
  private async waitForTurn(request: IncomingMessage, connection: EventEmitter): Promise<boolean> {
    const { addressKeyOf, clock, count } = this.dependencies;
    const key = addressKeyOf(request);
    const isFull = this.delayed >= MAX_DELAYED || this.isCrowded(key);
    count(isFull ? 'closed' : 'delayed');
    if (isFull) return false;
    this.addDelayed(key, 1);
    await new Promise<void>((resolve) => {
      const end = () => {
        timer.cancel();
        connection.off('close', end);
        resolve();
      };
      const timer = clock.after(DELAY_MS, end);
      connection.once('close', end);
    });
    this.addDelayed(key, -1);
    return true;
  }

  private addDelayed(key: string, added: 1 | -1): void {
    this.delayed += added;
    const own = (this.delayedOf.get(key) ?? 0) + added;
    if (own === 0) this.delayedOf.delete(key);
    else this.delayedOf.set(key, own);
  }
}
