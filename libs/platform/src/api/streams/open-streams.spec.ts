import { expect, it } from '@jest/globals';

import { Config } from '../../config/config.js';
import { type CloseReason, OpenStreams } from './open-streams.js';

const config = Config.from({ STREAMS_PER_PRINCIPAL: '2', STREAMS_PER_JOB: '3' });
const owner = (principal: string, jobId: string) => ({ principal, jobId, workspaceId: 'w' });
const nothing = () => undefined;

it('OpenStreams admits streams up to the limits per principal and per job', () => {
  const streams = new OpenStreams(config);
  streams.enter(owner('a', 'j'), nothing);
  streams.enter(owner('a', 'k'), nothing);
  expect(() => streams.enter(owner('a', 'l'), nothing)).toThrow(expect.objectContaining({ code: 'rate_limited' }));
  streams.enter(owner('b', 'j'), nothing);
  streams.enter(owner('c', 'j'), nothing);
  expect(() => streams.enter(owner('d', 'j'), nothing)).toThrow(expect.objectContaining({ code: 'rate_limited' }));
  expect(streams.size).toBe(4);
});

it('OpenStreams releases a slot once for repeated calls', () => {
  const streams = new OpenStreams(config);
  const slot = streams.enter(owner('a', 'j'), nothing);
  streams.enter(owner('a', 'j'), nothing);
  slot.leave();
  slot.leave();
  expect(streams.size).toBe(1);
  streams.enter(owner('a', 'j'), nothing);
  expect(() => streams.enter(owner('a', 'j'), nothing)).toThrow();
});

it('OpenStreams passes the reason for its end to every stream', async () => {
  const streams = new OpenStreams(config);
  const reasons: CloseReason[] = [];
  for (const principal of ['a', 'b', 'c']) streams.enter(owner(principal, 'j'), (reason) => reasons.push(reason));
  await streams.closeAll('shutdown');
  expect(reasons).toEqual(['shutdown', 'shutdown', 'shutdown']);
  expect(() => streams.enter(owner('d', 'j'), nothing)).toThrow(expect.objectContaining({ code: 'unavailable' }));
});
