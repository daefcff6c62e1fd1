import { createHmac, generateKeyPairSync } from 'node:crypto';

import { describe, expect, it, jest } from '@jest/globals';
import { exportJWK, exportSPKI, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose';

import { ConfigError, ManualClock } from '#platform';

import { type FetchKeys, type JwtSettings, JwtVerifier, type TokenRefusal } from './jwt-verifier.js';

const SECRET = 'the shared secret of the token issuer';
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const clock = new ManualClock();
const now = Math.floor(clock.now() / 1_000);
const good: JWTPayload = {
  iss: 'https://issuer.example',
  aud: 'nightshift',
  sub: 'subject-1',
  exp: now + 600,
  iat: now,
};
const keySet = async () => ({
  keys: [
    { ...(await exportJWK(rsa.publicKey)), kid: 'rsa-1', use: 'sig' },
    { ...(await exportJWK(ec.publicKey)), kid: 'ec-1', use: 'sig' },
  ],
});

const settings: JwtSettings = {
  JWT_SECRET: SECRET,
  JWT_JWKS_URL: 'https://issuer.example/keys',
  JWT_ALGORITHMS: ['RS256'],
  JWT_ISSUER: 'https://issuer.example',
  JWT_AUDIENCE: 'nightshift',
};

function arrange(changes: Partial<JwtSettings> = {}) {
  const fetchKeys = jest.fn<FetchKeys>(async () => Response.json(await keySet()));
  return { fetchKeys, verifier: new JwtVerifier({ ...settings, ...changes }, { fetchKeys, clock }) };
}

const byRsa = (payload: JWTPayload, header: Partial<JWTHeaderParameters> = {}) =>
  new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'rsa-1', ...header }).sign(rsa.privateKey);
const bySecret = (payload: JWTPayload, header: Partial<JWTHeaderParameters> = {}) =>
  new SignJWT(payload).setProtectedHeader({ alg: 'HS256', ...header }).sign(new TextEncoder().encode(SECRET));
const raw = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');
const byHand = (header: { alg: string; [name: string]: unknown }, payload: unknown, key: string) => {
  const signed = `${raw(header)}.${raw(payload)}`;
  return `${signed}.${createHmac(header.alg === 'HS512' ? 'sha512' : 'sha256', key)
    .update(signed)
    .digest('base64url')}`;
};
const without = (claim: keyof JWTPayload) =>
  Object.fromEntries(Object.entries(good).filter(([name]) => name !== claim));

describe('a valid token', () => {
  it('passes when the secret or a key of the key set signed it', async () => {
    const { verifier } = arrange();
    const claims = {
      issuer: 'https://issuer.example',
      subject: 'subject-1',
      email: null,
      name: '',
      expiresAt: (now + 600) * 1_000,
    };
    expect(await verifier.verify(await bySecret(good))).toEqual(claims);
    expect(await verifier.verify(await byRsa(good))).toEqual(claims);
    expect(await verifier.verify(await byRsa(good, { typ: 'at+jwt' }))).toEqual(claims);
    expect(await verifier.verify(await byRsa(good, { typ: 'JWT' }))).toEqual(claims);
  });

  it('provides an e-mail address only if the issuer verified it', async () => {
    const { verifier } = arrange();
    const email = async (claims: JWTPayload) => (await verifier.verify(await byRsa({ ...good, ...claims })))?.email;
    expect(await email({ email: 'Ann@Example.org', email_verified: true })).toBe('ann@example.org');
    expect(await email({ email: 'ann@example.org' })).toBeNull();
    expect(await email({ email: 'ann@example.org', email_verified: 'true' })).toBeNull();
    expect(await email({ email: 'no address', email_verified: true })).toBeNull();
  });

  it('needs one fetch of the key set', async () => {
    const { verifier, fetchKeys } = arrange();
    for (let i = 0; i < 3; i++) await verifier.verify(await byRsa(good));
    expect(fetchKeys.mock.calls.map(([url, init]) => [url, init.redirect])).toEqual([
      ['https://issuer.example/keys', 'manual'],
    ]);
  });

  it('passes a few seconds before `nbf`, and never after `exp`', async () => {
    const { verifier } = arrange();
    expect(await verifier.verify(await bySecret({ ...good, nbf: now + 3 }))).not.toBeNull();
    expect(await verifier.verify(await bySecret({ ...good, iat: now + 3 }))).not.toBeNull();
    expect(await verifier.verify(await bySecret({ ...good, exp: now }))).toBeNull();
    expect(await verifier.verify(await bySecret({ ...good, exp: now + 1 }))).not.toBeNull();
  });
});

describe('the reason of a refusal', () => {
  it.each<[string, Partial<JwtSettings>, () => Promise<string> | string, RegExp]>([
    ['tokens_off', { JWT_SECRET: undefined, JWT_JWKS_URL: undefined }, () => byRsa(good), /neither JWT_SECRET nor/],
    ['too_long', {}, () => 'x'.repeat(8_193), /longer than 8192/],
    ['malformed', {}, () => 'nonsense', /cannot be read/],
    ['algorithm', {}, () => byHand({ alg: 'HS512' }, good, SECRET), /"alg" is "HS512"; accepted: HS256, RS256/],
    ['type', {}, () => byRsa(good, { typ: 'logout+jwt' }), /"typ" is "logout\+jwt"/],
    ['signature', {}, () => byHand({ alg: 'HS256' }, good, 'another secret'), /signature/],
    ['signing_key', {}, () => byRsa(good, { kid: 'unknown' }), /no key with the "kid"/],
    ['expired', {}, () => bySecret({ ...good, exp: now - 60 }), /"exp" has passed/],
    [
      'claim',
      { JWT_ISSUER: undefined, JWT_JWKS_URL: undefined },
      () => bySecret(without('iss')),
      /^the claim "iss" is missing: it is required, also without JWT_ISSUER/,
    ],
    ['claim', {}, () => bySecret(without('sub')), /^the claim "sub" is missing$/],
    ['claim', {}, () => bySecret(without('exp')), /^the claim "exp" is missing$/],
    ['claim', {}, () => bySecret({ ...good, aud: 'other' }), /^the claim "aud" is "other", expected "nightshift"$/],
    [
      'claim',
      {},
      () => bySecret({ ...good, iss: 'https://b.example' }),
      /"https:\/\/b\.example", expected "https:\/\/issuer/,
    ],
    ['claim', {}, () => bySecret({ ...good, iat: now + 60 }), /"iat" lies in the future/],
  ])('%s is reported, without the token (%#)', async (...[reason, changes, make, detail]) => {
    const refused = jest.fn<(refusal: TokenRefusal) => void>();
    const fetchKeys = async () => Response.json(await keySet());
    const verifier = new JwtVerifier({ ...settings, ...changes }, { fetchKeys, clock, refused });
    const token = await make();
    expect(await verifier.verify(token)).toBeNull();
    expect(refused.mock.calls).toEqual([[{ reason, detail: expect.stringMatching(detail) }]]);
    const signature = token.split('.').at(-1) ?? token;
    expect(JSON.stringify(refused.mock.calls)).not.toContain(signature);
  });

  it('does not appear for a valid token', async () => {
    const refused = jest.fn();
    const { fetchKeys } = arrange();
    await new JwtVerifier(settings, { fetchKeys, clock, refused }).verify(await bySecret(good));
    expect(refused).not.toHaveBeenCalled();
  });

  it('stays absent for an e-mail address of the installation, which the verifier ignores', async () => {
    const claims = { ...good, email: 'Demo@Nightshift.local', email_verified: true };
    expect((await arrange().verifier.verify(await bySecret(claims)))?.email).toBeNull();
  });
});

describe('a token is refused', () => {
  const publicPem = () => exportSPKI(rsa.publicKey);
  it.each<[string, () => Promise<string> | string]>([
    ['with alg none', () => `${raw({ alg: 'none' })}.${raw(good)}.`],
    ['with alg None', () => `${raw({ alg: 'None' })}.${raw(good)}.`],
    ['without alg', () => `${raw({})}.${raw(good)}.x`],
    [
      'signed with the public key as an HMAC secret',
      async () => byHand({ alg: 'HS256', kid: 'rsa-1' }, good, await publicPem()),
    ],
    ['that claims RS256 over an HMAC', async () => byHand({ alg: 'RS256', kid: 'rsa-1' }, good, await publicPem())],
    ['by HS512 under the right secret', () => byHand({ alg: 'HS512' }, good, SECRET)],
    [
      'by an algorithm of the set that is not pinned',
      () => new SignJWT(good).setProtectedHeader({ alg: 'ES256', kid: 'ec-1' }).sign(ec.privateKey),
    ],
    [
      'by a stranger under a known kid',
      () => new SignJWT(good).setProtectedHeader({ alg: 'RS256', kid: 'rsa-1' }).sign(stranger.privateKey),
    ],
    ['by a wrong secret', () => byHand({ alg: 'HS256' }, good, 'not the secret')],
    ['by an empty secret', () => byHand({ alg: 'HS256' }, good, ' ')],
    ['of another issuer', () => byRsa({ ...good, iss: 'https://evil.example' })],
    ['for another audience', () => byRsa({ ...good, aud: 'another service' })],
    ['without audience', () => byRsa(without('aud'))],
    ['without issuer', () => byRsa(without('iss'))],
    ['without subject', () => byRsa(without('sub'))],
    ['with an empty subject', () => byRsa({ ...good, sub: '' })],
    ['with a numeric subject', () => byHand({ alg: 'HS256' }, { ...good, sub: 7 }, SECRET)],
    ['with a subject that cannot be stored', () => bySecret({ ...good, sub: 'a\0b' })],
    ['without expiry', () => byRsa(without('exp'))],
    ['with an expiry as text', () => byHand({ alg: 'HS256' }, { ...good, exp: '9999999999' }, SECRET)],
    ['expired', () => byRsa({ ...good, exp: now - 1 })],
    ['not yet valid', () => byRsa({ ...good, nbf: now + 60 })],
    ['issued in the future', () => byRsa({ ...good, iat: now + 60 })],
    ['of the type logout', () => byRsa(good, { typ: 'logout+jwt' })],
    ['of the type security event', () => byRsa(good, { typ: 'secevent+jwt' })],
    ['with a critical header we do not know', () => byHand({ alg: 'HS256', crit: ['x'], x: 1 }, good, SECRET)],
    ['with an unencoded payload', () => byHand({ alg: 'HS256', crit: ['b64'], b64: false }, good, SECRET)],
    ['with a list as payload', () => byHand({ alg: 'HS256' }, [good], SECRET)],
    [
      'with a kid that reaches for a file',
      () => new SignJWT(good).setProtectedHeader({ alg: 'RS256', kid: '../../dev/null' }).sign(stranger.privateKey),
    ],
    [
      'with a kid that reaches for SQL',
      () => new SignJWT(good).setProtectedHeader({ alg: 'RS256', kid: "x' UNION SELECT 'k" }).sign(stranger.privateKey),
    ],
    ['cut short', async () => (await byRsa(good)).slice(0, -3)],
    [
      'with a changed payload',
      async () => {
        const [header, , signature] = (await byRsa(good)).split('.');
        return `${header ?? ''}.${raw({ ...good, sub: 'another-user' })}.${signature ?? ''}`;
      },
    ],
    ['that is oversized', () => bySecret({ ...good, filler: 'x'.repeat(9_000) })],
    ['without the form of a token', () => 'not.a.token'],
    ['that is empty', () => ''],
  ])('%s', async (_fact, token) => {
    expect(await arrange().verifier.verify(await token())).toBeNull();
  });

  it('when it names its own keys, which are never fetched or used', async () => {
    const { verifier, fetchKeys } = arrange();
    const jwk = await exportJWK(stranger.publicKey);
    const evil = { jku: 'https://evil.example/keys', x5u: 'https://evil.example/cert', jwk };
    for (const kid of ['rsa-1', 'evil']) {
      const token = await new SignJWT(good)
        .setProtectedHeader({ alg: 'RS256', kid, ...evil })
        .sign(stranger.privateKey);
      expect(await verifier.verify(token)).toBeNull();
    }
    expect(new Set(fetchKeys.mock.calls.map(([url]) => url))).toEqual(new Set(['https://issuer.example/keys']));
  });

  it('when its kind of verification is not configured', async () => {
    expect(await arrange({ JWT_SECRET: undefined }).verifier.verify(await bySecret(good))).toBeNull();
    expect(await arrange({ JWT_JWKS_URL: undefined }).verifier.verify(await byRsa(good))).toBeNull();
  });
});

describe('the key set', () => {
  it('accepts only tokens that name an issuer', () => {
    expect(() => arrange({ JWT_ISSUER: undefined })).toThrow(ConfigError);
  });

  it('gives the error `unavailable` when it cannot be fetched', async () => {
    const { verifier, fetchKeys } = arrange();
    fetchKeys.mockRejectedValueOnce(new Error('refused'));
    await expect(verifier.verify(await byRsa(good))).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    fetchKeys.mockResolvedValueOnce(new Response('no', { status: 302 }));
    await expect(verifier.verify(await byRsa(good))).rejects.toMatchObject({ code: 'unavailable' });
    expect(await verifier.verify(await byRsa(good))).not.toBeNull();
  });
});
