import { expect, it } from '@jest/globals';

import { isLocalRequest } from './is-local-request.js';

it.each(['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'])('takes %s for this machine', (remoteAddress) => {
  expect(isLocalRequest({ headers: {}, socket: { remoteAddress } })).toBe(true);
});

it.each(['10.0.0.1', '::ffff:10.0.0.1', '1.127.0.0', undefined])('takes %s for another machine', (remoteAddress) => {
  expect(isLocalRequest({ headers: {}, socket: { remoteAddress } })).toBe(false);
});

it.each(['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'])(
  'takes a proxy that sends %s for another machine',
  (name) => {
    expect(isLocalRequest({ headers: { [name]: '127.0.0.1' }, socket: { remoteAddress: '127.0.0.1' } })).toBe(false);
  },
);
