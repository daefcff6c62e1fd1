import { type Clock, TimedCache } from '#platform';

import type { AccessCache } from '../access-cache.js';
import { tooManyWrongKeys, unauthenticated } from '../auth.errors.js';
import type { IdentityRepository, KeyRecord } from '../identity.repository.js';
import { type KeyPrincipal, keyPrincipal } from '../principal.js';
import { type ApiKeyCodec, prefixOf } from './api-key-codec.js';

/** How many failures a name may have in a window, and how many names are counted. */
interface FailureLimits {
  readonly failures: number;
  readonly windowMs: number;
  readonly names: number;
}

interface Window {
  readonly endsAt: number;
  failures: number;
}

/**
 * Counts failed attempts by name, in this process and in bounded memory: if there are too many names, the oldest window is removed. It never
 * delays a correct key, so an attacker who guesses keys cannot lock out their owner.
 */
export class FailureLimiter {
  private readonly windows = new Map<string, Window>();

  constructor(
    private readonly clock: Clock,
    private readonly limits: FailureLimits = { failures: 20, windowMs: 60_000, names: 10_000 },
  ) {}

  /** Counts one failure. Returns the seconds to wait if the limit is exceeded, else null. */
  fail(name: string): number | null {
    const now = this.clock.monotonic();
    const window = this.windowOf(name, now);
    window.failures += 1;
    return window.failures > this.limits.failures ? Math.max(1, Math.ceil((window.endsAt - now) / 1_000)) : null;
  }

  /** Maximum number of failures of a name in a window. */
  get maxFailures(): number {
    return this.limits.failures;
  }

  /** Number of names that are counted now. */
  get size(): number {
    return this.windows.size;
  }

  private windowOf(name: string, now: number): Window {
    const known = this.windows.get(name);
    if (known !== undefined && now < known.endsAt) return known;
    this.windows.delete(name);
    for (const [oldest, { endsAt }] of this.windows) {
      // A map keeps the order of insertion, in which the windows end.
      if (now < endsAt && this.windows.size < this.limits.names) break;
      this.windows.delete(oldest);
    }
    const window = { endsAt: now + this.limits.windowMs, failures: 0 };
    this.windows.set(name, window);
    return window;
  }
}

/** Dependencies of `ApiKeyAuthenticator`. */
export interface ApiKeyAuthenticatorParts {
  readonly codec: ApiKeyCodec;
  readonly access: AccessCache;
  readonly identities: IdentityRepository;
  readonly clock: Clock;
}

/** Authenticates API keys. */
export class ApiKeyAuthenticator {
  private readonly failures: FailureLimiter;
  private readonly touches: TimedCache<void>;
  /** One principal for each cached record, because its ability is cached by the object. */
  private readonly principals = new WeakMap<KeyRecord, KeyPrincipal>();

  constructor(private readonly parts: ApiKeyAuthenticatorParts) {
    const { clock } = parts;
    this.failures = new FailureLimiter(clock);
    this.touches = new TimedCache({ clock, ttlMs: 60_000, max: 10_000 });
  }

  /**
   * Throws `unauthenticated` for a key that is malformed, unknown, wrong, expired or revoked, or whose user has left the workspace. Throws
   * `rate_limited` instead after 20 wrong attempts with one prefix within a minute. Never refuses a correct key.
   */
  async authenticate(text: string): Promise<KeyPrincipal> {
    const prefix = prefixOf(text);
    if (prefix === null) throw unauthenticated();
    const record = await this.parts.access.keyByPrefix(prefix);
    const right = this.parts.codec.matches(text, record?.hash ?? null);
    const principal = right && record !== null ? this.principalOf(record) : null;
    if (record === null || principal === null) throw this.refusal(prefix);
    await this.touch(record, text);
    return principal;
  }

  /** The current principal of a key, or null if the key is no longer valid. */
  async recheck(principal: KeyPrincipal): Promise<KeyPrincipal | null> {
    const record = await this.parts.access.keyByPrefix(principal.prefix);
    return record !== null && `key:${record.id}` === principal.id ? this.principalOf(record) : null;
  }

  private principalOf(record: KeyRecord): KeyPrincipal | null {
    const { role, revokedAt, expiresAt, id, prefix, workspaceId, userId, scopes } = record;
    if (role === null || revokedAt !== null) return null;
    if (expiresAt !== null && expiresAt <= this.parts.clock.now()) return null;
    const known = this.principals.get(record);
    if (known !== undefined) return known;
    const principal = keyPrincipal({ keyId: id, prefix, workspaceId, userId, role, scopes, expiresAt });
    this.principals.set(record, principal);
    return principal;
  }

  private refusal(prefix: string) {
    const wait = this.failures.fail(prefix);
    return wait === null ? unauthenticated() : tooManyWrongKeys(this.failures.maxFailures, wait);
  }

  private async touch(record: KeyRecord, text: string): Promise<void> {
    const { identities, clock, codec } = this.parts;
    const hash = codec.hashOf(text);
    // The hash was made with an earlier secret of the installation, so it is replaced by a hash with the current one.
    const isOutdated = Buffer.compare(hash, record.hash) !== 0;
    // The time of use is only information for people, so a failure to store it does not fail the request. The next use tries again.
    await this.touches
      .get(record.id, () => identities.touchKey(record, clock.now(), isOutdated ? hash : null))
      .catch(() => undefined);
  }
}
