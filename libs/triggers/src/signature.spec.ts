import { createHmac } from 'node:crypto';

import { describe, expect, it } from '@jest/globals';

import {
  isSignedBy,
  signatureHeaders,
  signatureProblem,
  type SignatureStyle,
  type SignedRequest,
} from './signature.js';

const body = '{"test": 2432232314}';
const timestamp = 1_614_265_330;
const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
const standardSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const syntrixSecret = 'nightshift-test-secret';
const now = timestamp * 1_000;

describe('signatureHeaders', () => {
  it('signs the test vector of Standard Webhooks', () => {
    expect(signatureHeaders('standard', [standardSecret], { id, timestamp, body })).toEqual({
      'webhook-id': id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('signs the test vector of the Syntrix header', () => {
    expect(signatureHeaders('syntrix', [syntrixSecret], { id, timestamp, body })).toEqual({
      'X-Syntrix-Signature': 't=1614265330,v1=e6dce75c1b5d1b692931df420521a16bfffd8f668a4dfb906982a8218a125996',
      'X-Nightshift-Delivery': id,
    });
  });

  it('signs with every secret, in both styles at once', () => {
    const headers = signatureHeaders('both', [standardSecret, 'another'], { id, timestamp, body });
    expect(headers['webhook-signature']?.split(' ')).toHaveLength(2);
    expect(headers['X-Syntrix-Signature']?.split(',')).toHaveLength(3);
  });

  it('adds no header without a secret', () => {
    expect(signatureHeaders('both', [], { id, timestamp, body })).toEqual({});
  });
});

describe('isSignedBy', () => {
  const signed = (style: SignatureStyle, secrets = [standardSecret], text = body) => ({
    headers: Object.fromEntries(
      Object.entries(signatureHeaders(style, secrets, { id, timestamp, body })).map(([name, value]) => [
        name.toLowerCase(),
        value,
      ]),
    ),
    body: Buffer.from(text),
  });

  it.each(['standard', 'syntrix', 'both'] as const)('accepts the headers of style %s', (style) => {
    expect(isSignedBy([standardSecret], signed(style), { now })).toBe(true);
  });

  it.each(['standard', 'syntrix'] as const)('refuses another secret and another body in style %s', (style) => {
    expect(isSignedBy(['wrong'], signed(style), { now })).toBe(false);
    expect(isSignedBy([], signed(style), { now })).toBe(false);
    expect(isSignedBy([standardSecret], signed(style, [standardSecret], `${body} `), { now })).toBe(false);
  });

  it('accepts either secret during a rotation', () => {
    expect(isSignedBy(['old'], signed('standard', ['new', 'old']), { now })).toBe(true);
    expect(isSignedBy(['new', 'old'], signed('syntrix', ['old']), { now })).toBe(true);
  });

  it.each(['standard', 'syntrix'] as const)('refuses a time beyond the tolerance in style %s', (style) => {
    for (const seconds of [-300, 300])
      expect(isSignedBy([standardSecret], signed(style), { now: now + seconds * 1_000 })).toBe(true);
    for (const seconds of [-301, 301])
      expect(isSignedBy([standardSecret], signed(style), { now: now + seconds * 1_000 })).toBe(false);
    expect(isSignedBy([standardSecret], signed(style), { now: now + 11_000, toleranceSeconds: 10 })).toBe(false);
  });

  it.each(['standard', 'syntrix'] as const)('refuses a digest with further characters in style %s', (style) => {
    const name = style === 'standard' ? 'webhook-signature' : 'x-syntrix-signature';
    for (const more of ['z', 'zz', ' ', '=', '-']) {
      const request = signed(style);
      const headers = { ...request.headers, [name]: `${request.headers[name] ?? ''}${more}` };
      const isTrimmed = more.trim() === '';
      expect([more, isSignedBy([standardSecret], { ...request, headers }, { now })]).toEqual([more, isTrimmed]);
    }
  });

  it('reports why no secret signed a request: no headers, a time beyond the tolerance, or another secret', () => {
    const problemOf = (request: SignedRequest, at = now) => signatureProblem(request, { now: at });
    expect(problemOf({ headers: {}, body: Buffer.from(body) })).toBe('the request has no complete signature headers');
    for (const style of ['standard', 'syntrix'] as const) {
      const request = signed(style);
      expect(problemOf(request, now + 301_000)).toBe(
        'the time of the signature is 301 s before the clock of the server',
      );
      expect(problemOf(request, now - 400_000)).toBe(
        'the time of the signature is 400 s after the clock of the server',
      );
      expect(problemOf(request)).toBe('the signature does not match the secret');
    }
  });

  it.each(['whsec_$$$$$$$$', 'whsec_', 'whsec_***redacted***'])(
    'uses no empty or shortened key for the malformed secret %s',
    (secret) => {
      const decoded = Buffer.from(secret.slice('whsec_'.length), 'base64');
      const headers = signed('standard').headers;
      const digest = createHmac('sha256', decoded).update(`${id}.${timestamp}.`).update(body).digest('base64');
      const forged = { headers: { ...headers, 'webhook-signature': `v1,${digest}` }, body: Buffer.from(body) };
      expect(isSignedBy([secret], forged, { now })).toBe(false);
    },
  );

  it('refuses the id of another delivery', () => {
    const request = signed('standard');
    const headers = { ...request.headers, 'webhook-id': 'msg_other' };
    expect(isSignedBy([standardSecret], { ...request, headers }, { now })).toBe(false);
  });

  it.each([
    ['no header', {}],
    ['a digest of another length', { 'x-syntrix-signature': `t=${timestamp},v1=e6dce7` }],
    ['no time', { 'x-syntrix-signature': 'v1=e6dce75c1b5d1b692931df420521a16bfffd8f668a4dfb906982a8218a125996' }],
    ['two times', { 'x-syntrix-signature': `t=${timestamp},t=1,v1=00` }],
    ['a time that is not a number', { 'x-syntrix-signature': 't=NaN,v1=00' }],
    ['an empty signature', { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': 'v1,' }],
    ['a repeated header', { 'x-syntrix-signature': ['t=1,v1=00', 't=2,v1=00'] }],
    ['too many signatures', { 'x-syntrix-signature': `t=${timestamp}${',v1=00'.repeat(17)}` }],
  ])('refuses %s', (_case, headers) => {
    expect(isSignedBy([syntrixSecret], { headers, body: Buffer.from(body) }, { now })).toBe(false);
  });
});
