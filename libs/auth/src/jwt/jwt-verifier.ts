import {
  createRemoteJWKSet,
  customFetch,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
} from 'jose';

import { AppError, type Clock, ConfigError, type Settings } from '#platform';

import { issuerUnavailable } from '../auth.errors.js';

/** The settings that say which tokens count. */
export type JwtSettings = Pick<
  Settings,
  'JWT_SECRET' | 'JWT_JWKS_URL' | 'JWT_ALGORITHMS' | 'JWT_ISSUER' | 'JWT_AUDIENCE'
>;

/** Fetches the issuer's key set: the guarded outbound client in production. */
export type FetchKeys = (url: string, init: RequestInit) => Promise<Response>;

/** What a good token says. */
export interface VerifiedToken {
  readonly issuer: string;
  readonly subject: string;
  /** Lower-case; null unless the issuer says that it verified the address (OpenID Connect Core 1.0, section 5.1). */
  readonly email: string | null;
  readonly name: string;
  /** `exp` in ms since the epoch. */
  readonly expiresAt: number;
}

interface KeySource {
  readonly algorithms: readonly string[];
  readonly key: JWTVerifyGetKey;
}

/** Skew between the issuer's clock and ours that is forgiven for `nbf` and `iat`; an ended token is ended. */
const TOLERANCE_SECONDS = 5;
const MAX_TOKEN_CHARS = 8_192;
/** RFC 9068 access tokens and plain JWTs; a logout or security-event token is not an access token (RFC 8725, 3.11). */
const TYPES = ['jwt', 'at+jwt', 'application/at+jwt'];

/**
 * Verifies bearer tokens by RFC 8725: each key source has its own fixed list of algorithms, so a public key is never used
 * as an HMAC secret; keys come from the configuration only, never from the token (`jku`, `x5u`, `jwk` are not read and `kid`
 * is only compared); issuer, audience, type and expiry are checked, and `exp`, `iss`, `sub` must be there.
 */
export class JwtVerifier {
  private readonly sources: readonly KeySource[];

  /** Throws `ConfigError` when a key set is configured without the issuer it belongs to. */
  constructor(
    private readonly settings: JwtSettings,
    private readonly fetchKeys: FetchKeys,
    private readonly clock: Clock,
  ) {
    this.sources = [...this.secretSource(), ...this.keySetSource()];
  }

  /** What the token says, or null if it is not good. Throws `unavailable` when the issuer's keys cannot be had. */
  async verify(token: string): Promise<VerifiedToken | null> {
    if (token.length > MAX_TOKEN_CHARS) return null;
    try {
      const { alg, typ } = decodeProtectedHeader(token);
      const source = this.sources.find(({ algorithms }) => alg !== undefined && algorithms.includes(alg));
      if (source === undefined) return null;
      if (typ !== undefined && !TYPES.includes(typ.toLowerCase())) return null;
      const { payload } = await jwtVerify(token, source.key, this.optionsFor(source));
      return this.read(payload);
    } catch (error) {
      if (error instanceof AppError) throw error;
      if (error instanceof errors.JWKSTimeout) throw issuerUnavailable(error);
      return null;
    }
  }

  private optionsFor(source: KeySource): Parameters<typeof jwtVerify>[2] {
    const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience } = this.settings;
    return {
      algorithms: [...source.algorithms],
      requiredClaims: ['exp', 'iss', 'sub'],
      clockTolerance: TOLERANCE_SECONDS,
      currentDate: new Date(this.clock.now()),
      ...(issuer === undefined ? {} : { issuer }),
      ...(audience === undefined ? {} : { audience }),
    };
  }

  private read(payload: JWTPayload): VerifiedToken | null {
    const { iss, sub, exp, iat } = payload;
    const now = this.clock.now();
    if (!isText(iss) || !isText(sub) || exp === undefined || exp * 1_000 <= now) return null;
    if (iat !== undefined && iat * 1_000 > now + TOLERANCE_SECONDS * 1_000) return null;
    const { email, email_verified: verified, name } = payload;
    return {
      issuer: iss,
      subject: sub,
      email: verified === true && isText(email) && email.includes('@') ? email.trim().toLowerCase() : null,
      name: isText(name) ? name : '',
      expiresAt: exp * 1_000,
    };
  }

  private secretSource(): KeySource[] {
    if (this.settings.JWT_SECRET === undefined) return [];
    const secret = new TextEncoder().encode(this.settings.JWT_SECRET);
    return [{ algorithms: ['HS256'], key: () => Promise.resolve(secret) }];
  }

  private keySetSource(): KeySource[] {
    const { JWT_JWKS_URL: url, JWT_ISSUER: issuer, JWT_ALGORITHMS: algorithms } = this.settings;
    if (url === undefined) return [];
    // Several issuers may share one key set; without a fixed name each of them could speak for the others.
    if (issuer === undefined) throw new ConfigError(['JWT_ISSUER: must be set together with JWT_JWKS_URL']);
    const key = createRemoteJWKSet(new URL(url), { timeoutDuration: 5_000, [customFetch]: this.fetchOrUnavailable });
    return [{ algorithms, key }];
  }

  private readonly fetchOrUnavailable = async (url: string, init: RequestInit): Promise<Response> => {
    const response = await this.fetchKeys(url, init).catch((error: unknown) => {
      throw issuerUnavailable(error);
    });
    if (response.status !== 200) throw issuerUnavailable(new Error(`key set answered ${response.status}`));
    return response;
  };
}

/** Text that Postgres can store and that is no memory hazard. */
function isText(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length > 0 &&
    value.length <= 320 &&
    !value.includes('\0') &&
    value.isWellFormed()
  );
}
