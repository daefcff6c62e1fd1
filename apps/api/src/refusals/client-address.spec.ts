import type { IncomingMessage } from 'node:http';

import { describe, expect, it } from '@jest/globals';

import { clientAddressKeys } from './client-address.js';

const request = (remoteAddress: string | undefined, forwarded?: string) =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage; // what is read

describe('clientAddressKeys', () => {
  it('ignores X-Forwarded-For of a peer that is not a trusted proxy', () => {
    expect(clientAddressKeys([])(request('192.0.2.1', '198.51.100.7'))).toBe('192.0.2.1');
    expect(clientAddressKeys(['10.0.0.1'])(request('10.0.0.2', '198.51.100.7'))).toBe('10.0.0.2');
  });

  it.each([
    ['198.51.100.7', '198.51.100.7'],
    ['203.0.113.9, 198.51.100.7', '198.51.100.7'],
    ['203.0.113.9, 198.51.100.7, 10.0.0.5', '198.51.100.7'],
    ['10.0.0.7, 10.0.0.5', '10.0.0.7'],
    ['::ffff:198.51.100.7', '198.51.100.7'],
    [
      '2001:db8:0:1::2',
      '2001:db8:0:1'
        .split(':')
        .map((part) => String(parseInt(part, 16)))
        .join(':'),
    ],
    ['nonsense', '10.0.0.1'],
    ['198.51.100.7, nonsense', '10.0.0.1'],
    ['', '10.0.0.1'],
  ])('takes the last address before the trusted proxies: %s', (forwarded, key) => {
    expect(clientAddressKeys(['10.0.0.0/8'])(request('10.0.0.1', forwarded))).toBe(key);
    expect(clientAddressKeys(['::1', '10.0.0.0/8'])(request('::ffff:10.0.0.1', forwarded))).toBe(key);
  });

  it('trusts proxies by IPv6 address and network', () => {
    expect(clientAddressKeys(['::1'])(request('::1', '198.51.100.7'))).toBe('198.51.100.7');
    expect(clientAddressKeys(['fd00::/8'])(request('fd12::1', '198.51.100.7'))).toBe('198.51.100.7');
    expect(clientAddressKeys(['::1'])(request(undefined, '198.51.100.7'))).toBe('unknown');
  });
});
