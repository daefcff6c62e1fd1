import DataLoader from 'dataloader';

import { type Bus, type Clock, TimedCache } from '#platform';

import type { IdentityRepository, KeyRecord, UserRecord } from './identity.repository.js';
import type { VerifiedToken } from './jwt-verifier.js';
import type { MemberPrincipal } from './principal.js';

const TTL_MS = 1_000;
const MAX_ENTRIES = 10_000;
/** Maximum number of keys that one statement reads. */
const MAX_IN_BATCH = 200;
const MAX_BATCH_MS = 1_000;
/** How many times a second `currentUser` reads a user who is not a member. Further requests for a wrong workspace cause no reads. */
const FRESH_READS = 5;

/**
 * Caches memberships, keys and identities for at most a second, so that a burst of requests by one principal costs one read a second. After a
 * change of membership, role or key, a hint on the bus clears the cache at once; if the hint is lost, entries expire after the second.
 * `currentUser` reads a missing membership again, a few times a second for each user. Cache keys are unique across workspaces (a prefix, a
 * user id, a hash of the credential), so no entry is shared.
 */
export class AccessCache {
  private readonly keys: TimedCache<KeyRecord | null>;
  private readonly users: TimedCache<UserRecord | null>;
  private readonly readsLeft: TimedCache<{ count: number }>;
  private readonly subjects: TimedCache<string>;
  private readonly principals: TimedCache<MemberPrincipal>;
  private readonly wayOut: (() => void)[];
  /** A flood of unknown keys occupies one connection of the pool: a batch starts when the batch before it has ended. */
  private readonly keyBatches: DataLoader<string, KeyRecord | null>;
  private lastBatch: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly identities: IdentityRepository,
    bus: Bus,
    private readonly clock: Clock,
  ) {
    const options = { clock, ttlMs: TTL_MS, max: MAX_ENTRIES };
    this.keys = new TimedCache(options);
    this.keyBatches = new DataLoader((prefixes) => this.lookUp(prefixes), {
      cache: false,
      maxBatchSize: MAX_IN_BATCH,
      batchScheduleFn: (run) => void this.lastBatch.then(run),
    });
    this.users = new TimedCache(options);
    this.readsLeft = new TimedCache(options);
    this.subjects = new TimedCache(options);
    this.principals = new TimedCache(options);
    const clear = () => {
      this.clear();
    };
    this.wayOut = [bus.subscribe('access-changed', clear), bus.onGap(clear)];
  }

  keyByPrefix(prefix: string): Promise<KeyRecord | null> {
    return this.keys.get(prefix, () => this.keyBatches.load(prefix));
  }

  user(id: string): Promise<UserRecord | null> {
    return this.users.get(id, () => this.identities.user(id));
  }

  /** Reads the user now and caches the result. Above `FRESH_READS` a second, returns the user as read within the last second. */
  async currentUser(id: string): Promise<UserRecord | null> {
    const left = await this.readsLeft.get(id, () => Promise.resolve({ count: FRESH_READS }));
    if (left.count > 0) this.users.forget(id);
    left.count -= 1;
    return this.user(id);
  }

  userIdOf(token: VerifiedToken): Promise<string> {
    return this.subjects.get(JSON.stringify([token.issuer, token.subject]), () => this.identities.userBySubject(token));
  }

  /** `fingerprint` identifies the credential and the requested workspace. */
  principal(fingerprint: string, load: () => Promise<MemberPrincipal>): Promise<MemberPrincipal> {
    return this.principals.get(fingerprint, load);
  }

  /** Clears the cache, so the next calls read the database. */
  clear(): void {
    for (const cache of [this.keys, this.users, this.readsLeft, this.subjects, this.principals]) cache.clear();
  }

  /** Ends the subscriptions to the bus. */
  close(): void {
    for (const leave of this.wayOut.splice(0)) leave();
    this.clear();
  }

  /** Reads the keys in one statement. If a connection does not respond, the next batch starts after a second. */
  private lookUp(prefixes: readonly string[]): Promise<(KeyRecord | null)[]> {
    const found = this.identities.keysByPrefix(prefixes);
    this.lastBatch = new Promise<void>((resolve) => {
      const timer = this.clock.after(MAX_BATCH_MS, resolve);
      const end = () => {
        timer.cancel();
        resolve();
      };
      found.then(end, end);
    });
    return found;
  }
}
