import {
  createRemoteJWKSet,
  customFetch,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
} from 'jose';

import { AppError, type Clock, ConfigError, defined, type Settings } from '#platform';

import { issuerUnavailable } from './auth.errors.js';

/** The settings that determine which tokens are valid. */
export type JwtSettings = Pick<
  Settings,
  'JWT_SECRET' | 'JWT_JWKS_URL' | 'JWT_ALGORITHMS' | 'JWT_ISSUER' | 'JWT_AUDIENCE'
>;

/** Fetches the issuer's key set: the guarded outbound client in production. */
export type FetchKeys = (url: string, init: RequestInit) => Promise<Response>;

/** The claims of a valid token. */
export interface VerifiedToken {
  readonly issuer: string;
  readonly subject: string;
  /** Lower-case; null unless the issuer states that it verified the address (OpenID Connect Core 1.0, section 5.1). */
  readonly email: string | null;
  readonly name: string;
  /** `exp` in ms since the epoch. */
  readonly expiresAt: number;
}

/** Why a token was refused. Contains no secret: no token and no signature. */
export interface TokenRefusal {
  /** Stable, for log searches. */
  readonly reason: string;
  /** A phrase for the operator. */
  readonly detail: string;
}

/** Dependencies of `JwtVerifier`. */
export interface JwtVerifierParts {
  readonly fetchKeys: FetchKeys;
  readonly clock: Clock;
  readonly refused?: (refusal: TokenRefusal) => void;
}

/** The claims of a token and their meaning, for the documentation. */
export const TOKEN_CLAIMS = [
  { claim: 'iss', meaning: 'The issuer. Required, also without JWT_ISSUER; must equal JWT_ISSUER where that is set.' },
  { claim: 'aud', meaning: 'The audience; must contain JWT_AUDIENCE where that is set.' },
  { claim: 'sub', meaning: 'The id of the person at the issuer; with "iss" it identifies the user.' },
  { claim: 'exp', meaning: 'End of the token, in seconds since 1970; open streams are closed then.' },
  { claim: 'nbf', meaning: 'Start of the token, in seconds since 1970; 5 s of clock skew are accepted.' },
  { claim: 'iat', meaning: 'Time of issue, in seconds since 1970; not in the future, with 5 s of clock skew.' },
  { claim: 'email', meaning: 'The address of the person; counts only with "email_verified": true.' },
  { claim: 'email_verified', meaning: 'true: the issuer has verified the address. Invitations need it.' },
  { claim: 'name', meaning: 'The name of the person, stored at the first sign-in.' },
] as const;

class Refused extends Error {
  constructor(
    readonly reason: string,
    readonly detail: string,
  ) {
    super(detail);
  }
}

/**
 * The domain of users that an installation creates for itself, such as the demo user. A token with such an address is treated as if it had
 * none.
 */
const LOCAL_ADDRESSES = '@nightshift.local';

interface KeySource {
  readonly algorithms: readonly string[];
  readonly key: JWTVerifyGetKey;
}

/** Clock skew in seconds between issuer and server that is accepted for `nbf` and `iat`. An expired token is never accepted. */
const TOLERANCE_SECONDS = 5;
const MAX_TOKEN_CHARS = 8_192;
/** RFC 9068 access tokens and plain JWTs; a logout or security-event token is not an access token (RFC 8725, 3.11). */
const TYPES = ['jwt', 'at+jwt', 'application/at+jwt'];

/**
 * Verifies bearer tokens by RFC 8725: each key source has its own fixed list of algorithms, so a public key is never used as an HMAC secret.
 * Keys come only from the configuration, never from the token (`jku`, `x5u` and `jwk` are not read, and `kid` is only compared). Issuer,
 * audience, type and expiry are checked, and `exp`, `iss` and `sub` are required.
 */
export class JwtVerifier {
  private readonly sources: readonly KeySource[];

  /** Throws `ConfigError` if a key set is configured without its issuer. */
  constructor(
    private readonly settings: JwtSettings,
    private readonly parts: JwtVerifierParts,
  ) {
    this.sources = [...this.secretSource(), ...this.keySetSource()];
  }

  /**
   * The claims of the token, or null if it is invalid; then `refused` has received the reason. Throws `unavailable` if the issuer's keys
   * cannot be fetched.
   */
  async verify(token: string): Promise<VerifiedToken | null> {
    try {
      return await this.check(token);
    } catch (error) {
      if (error instanceof AppError) throw error;
      if (error instanceof errors.JWKSTimeout) throw issuerUnavailable(error);
      this.parts.refused?.(toRefusal(error, this.settings));
      return null;
    }
  }

  private async check(token: string): Promise<VerifiedToken> {
    if (this.sources.length === 0)
      throw new Refused('tokens_off', 'neither JWT_SECRET nor JWT_JWKS_URL is set, so no token is accepted');
    if (token.length > MAX_TOKEN_CHARS) throw new Refused('too_long', `longer than ${MAX_TOKEN_CHARS} characters`);
    const { alg, typ } = decodeProtectedHeader(token);
    const source = this.sources.find(({ algorithms }) => alg !== undefined && algorithms.includes(alg));
    if (source === undefined) {
      const known = this.sources.flatMap(({ algorithms }) => algorithms).join(', ');
      throw new Refused('algorithm', `the header's "alg" is ${shown(alg)}; accepted: ${known}`);
    }
    if (typ !== undefined && !TYPES.includes(typ.toLowerCase()))
      throw new Refused('type', `the header's "typ" is ${shown(typ)}; accepted: ${TYPES.join(', ')}, or none`);
    const { payload } = await jwtVerify(token, source.key, this.optionsFor(source));
    return this.read(payload);
  }

  private optionsFor(source: KeySource): Parameters<typeof jwtVerify>[2] {
    const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience } = this.settings;
    return {
      algorithms: [...source.algorithms],
      requiredClaims: ['exp', 'iss', 'sub'],
      clockTolerance: TOLERANCE_SECONDS,
      currentDate: new Date(this.parts.clock.now()),
      ...defined({ issuer, audience }),
    };
  }

  private read(payload: JWTPayload): VerifiedToken {
    const { iss, sub, exp, iat } = payload;
    const now = this.parts.clock.now();
    const bad = (claim: string, detail: string) => new Refused('claim', `the claim "${claim}" ${detail}`);
    if (!isText(iss)) throw bad('iss', 'must be a text of at most 320 characters');
    if (!isText(sub)) throw bad('sub', 'must be a text of at most 320 characters');
    if (exp === undefined || exp * 1_000 <= now) throw new Refused('expired', 'the claim "exp" has passed');
    if (iat !== undefined && iat * 1_000 > now + TOLERANCE_SECONDS * 1_000) throw bad('iat', 'lies in the future');
    const { email, email_verified: verified, name } = payload;
    return {
      issuer: iss,
      subject: sub,
      email: verified === true && isText(email) && email.includes('@') ? toVerifiedAddress(email) : null,
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
    // Several issuers may share one key set. Without a configured issuer, each of them could sign tokens of the others.
    if (issuer === undefined) throw new ConfigError(['JWT_ISSUER: must be set together with JWT_JWKS_URL']);
    const key = createRemoteJWKSet(new URL(url), { timeoutDuration: 5_000, [customFetch]: this.fetchOrUnavailable });
    return [{ algorithms, key }];
  }

  private readonly fetchOrUnavailable = async (url: string, init: RequestInit): Promise<Response> => {
    const response = await this.parts.fetchKeys(url, init).catch((error: unknown) => {
      throw issuerUnavailable(error);
    });
    if (response.status !== 200)
      throw issuerUnavailable(new Error(`the key set URL returned status ${response.status}`));
    return response;
  };
}

/** The reason for each error of jose. Claims are checked after the signature, so their values were signed. */
function toRefusal(error: unknown, { JWT_ISSUER, JWT_AUDIENCE }: JwtSettings): TokenRefusal {
  if (error instanceof Refused) return { reason: error.reason, detail: error.detail };
  if (error instanceof errors.JWTExpired) return { reason: 'expired', detail: 'the claim "exp" has passed' };
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim, reason, payload } = error;
    const isAlways = claim === 'iss' && JWT_ISSUER === undefined;
    const why = isAlways ? ': it is required, also without JWT_ISSUER, because "iss" and "sub" identify the user' : '';
    if (reason === 'missing') return { reason: 'claim', detail: `the claim "${claim}" is missing${why}` };
    const wanted = { iss: JWT_ISSUER, aud: JWT_AUDIENCE }[claim];
    const expected = wanted === undefined ? 'another value' : `"${wanted}"`;
    return { reason: 'claim', detail: `the claim "${claim}" is ${shown(payload[claim])}, expected ${expected}` };
  }
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return { reason: 'signature', detail: 'the signature does not match the configured key' };
  if (error instanceof errors.JWKSNoMatchingKey)
    return { reason: 'signing_key', detail: 'the key set at JWT_JWKS_URL has no key with the "kid" of the token' };
  return { reason: 'malformed', detail: 'it cannot be read as a signed JWT' };
}

/** A value of the token as JSON, truncated. */
function shown(value: unknown): string {
  return value === undefined ? 'absent' : JSON.stringify(value).slice(0, 200);
}

function toVerifiedAddress(email: string): string | null {
  const address = email.trim().toLowerCase();
  return address.endsWith(LOCAL_ADDRESSES) ? null : address;
}

/** Whether Postgres can store the text, and its length is within the limit. */
function isText(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length > 0 &&
    value.length <= 320 &&
    !value.includes('\0') &&
    value.isWellFormed()
  );
}
