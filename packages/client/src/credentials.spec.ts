import { describe, expect, it } from '@jest/globals';

import { Credentials } from './credentials.js';

/** A JWT with these claims; its signature is not verified here. */
const tokenOf = (claims: object) => `e30.${btoa(JSON.stringify(claims)).replaceAll('=', '')}.c2ln`;

/** Tokens from a list, and how many were asked for. */
function source(tokens: readonly string[]) {
  const asked = { count: 0 };
  const getToken = () => Promise.resolve(tokens[asked.count++] ?? 'none left');
  return { asked, getToken };
}

describe('credentials', () => {
  it('request one token for concurrent callers', async () => {
    const { asked, getToken } = source(['a']);
    const credentials = new Credentials({ getToken });
    expect(await Promise.all([credentials.token(), credentials.token(), credentials.token()])).toEqual(['a', 'a', 'a']);
    expect(asked.count).toBe(1);
  });

  it('request one new token when the server refuses the current one several times', async () => {
    const { asked, getToken } = source(['a', 'b', 'c']);
    const credentials = new Credentials({ getToken });
    await credentials.token();
    expect(credentials.refuse('a')).toBe(true);
    expect(await credentials.token()).toBe('b');
    expect(credentials.refuse('a')).toBe(true);
    expect(await credentials.token()).toBe('b');
    expect(asked.count).toBe(2);
  });

  it('use the fixed token only', async () => {
    const credentials = new Credentials({ token: 'key' });
    expect(credentials.refuse('key')).toBe(false);
    expect(await credentials.token()).toBe('key');
  });

  it('request a new token shortly before the current one expires, by its lifetime and the local clock', async () => {
    const clock = { now: 1_000_000 };
    const hour = tokenOf({ iat: 50, exp: 3_650 });
    const { asked, getToken } = source([hour, 'next']);
    const credentials = new Credentials({ getToken }, () => clock.now);
    await credentials.token();
    clock.now += 3_594_000;
    expect(await credentials.token()).toBe(hour);
    clock.now += 2_000;
    expect(await credentials.token()).toBe('next');
    expect(asked.count).toBe(2);
  });

  it('keep a token without an expiry', async () => {
    const { getToken } = source([tokenOf({ sub: 'me' }), 'another']);
    const credentials = new Credentials({ getToken }, () => 8e15);
    expect(await credentials.token()).toBe(await credentials.token());
  });

  it('reject with the cause of a failure, and request a token again the next time', async () => {
    let isSignedIn = false;
    const getToken = () => {
      if (!isSignedIn) throw new Error('signed out');
      return 'token';
    };
    const credentials = new Credentials({ getToken });
    await expect(credentials.token()).rejects.toMatchObject({
      code: 'token_unavailable',
      cause: { message: 'signed out' },
    });
    isSignedIn = true;
    expect(await credentials.token()).toBe('token');
  });
});
