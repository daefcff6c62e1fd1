import { EventEmitter } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { describe, expect, it } from '@jest/globals';
import type { Request, Response } from 'express';

import { ManualClock } from '../../clock.js';
import { CallerTurns } from './caller-turns.js';
import { bodyLimitOf, bodyMiddleware, readBody, readPublicBody } from './read-body.js';

const settings = { MAX_BODY_BYTES: 4_194_304, MAX_BODY_TOKENS: 100_000, BODY_TIMEOUT_MS: 60_000 };

describe('readBody', () => {
  const open = () => {
    const clock = new ManualClock();
    const turns = new CallerTurns(clock);
    const middleware = bodyMiddleware(settings, turns, () => '192.0.2.1');
    /** Sends a list of `tokens` JSON tokens. */
    const send = async (caller: string, tokens: number) => {
      const request = new IncomingMessage(new Socket()) as Request; // what the middleware reads
      const response = new EventEmitter();
      Object.assign(request, { method: 'POST', url: '/api/jobs', is: () => 'application/json' });
      request.headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
      request.push(`[0${',0'.repeat(tokens - 1)}]`);
      request.push(null);
      middleware(request, response as Response, () => undefined);
      const done = readBody(request, caller);
      done.catch(() => undefined); // asserted by the test
      await nextTurn();
      return { request, response, done, isRead: () => request.body !== undefined };
    };
    return { clock, turns, send };
  };

  it('delays only the caller that sends many bodies with many tokens', async () => {
    const { clock, turns, send } = open();
    const many = [await send('many', 60_000), await send('many', 60_000)];
    const [one, small] = [await send('one', 60_000), await send('many', 999)];
    expect([...many, one, small].map(({ isRead }) => isRead())).toEqual([true, false, true, true]);
    clock.advance(100);
    await nextTurn();
    expect([many[1]?.isRead(), turns.size]).toEqual([true, 0]);
  });

  it('refuses only the public bodies of an address and target over the limit', async () => {
    const middleware = bodyMiddleware(settings, new CallerTurns(new ManualClock()), ({ ip }) => String(ip));
    /** Opens a body that never ends; true: it is being read. */
    const isOpened = async (ip: string, read: (request: Request) => Promise<unknown>) => {
      const request = new IncomingMessage(new Socket()) as Request; // what the middleware reads
      Object.assign(request, { method: 'POST', url: '/hooks/a', is: () => 'application/json', ip });
      request.headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
      middleware(request, new EventEmitter() as Response, () => undefined);
      const done = read(request);
      const code = done.then(
        () => 'read',
        (error: unknown) => (error as { code: string }).code,
      );
      opened.push({ request, code });
      return (await Promise.race([code, nextTurn(null)])) === null;
    };
    const opened: { readonly request: Request; readonly code: Promise<string> }[] = [];
    const open = (ip: string, target: string) => isOpened(ip, (request) => readPublicBody(request, target));
    for (let i = 0; i < 100; i++) expect(await open('192.0.2.1', 'a')).toBe(true);
    const others = [await open('192.0.2.1', 'b'), await open('192.0.2.2', 'a')];
    const caller = await isOpened('192.0.2.1', (request) => readBody(request, '192.0.2.1 a'));
    expect([await open('192.0.2.1', 'a'), await opened.at(-1)?.code]).toEqual([false, 'rate_limited']);
    expect([...others, caller]).toEqual([true, true, true]);
    for (const { request } of opened) request.destroy();
    await Promise.all(opened.map(({ code }) => code));
  });

  it('withdraws the parse slot of a client that disconnects', async () => {
    const { turns, send } = open();
    await send('many', 60_000);
    const { response, done, isRead } = await send('many', 60_000);
    expect(turns.size).toBe(1);
    response.emit('close');
    await expect(done).rejects.toMatchObject({ message: 'The request was aborted' });
    expect([turns.size, isRead()]).toEqual([0, false]);
  });
});

const server = 4_194_304;

describe('the size limit of a body', () => {
  it.each([
    ['/api/jobs', server],
    ['/graphql', server],
    ['/api/jobs/j/client-tool/claim', 4_096],
    ['/api/jobs/j/client-tool/validate?x=/', 4_096],
    ['/API/jobs/j/Client-Tool/claim/', 4_096],
    ['/api/jobs/j/client-tool/result', 1_589_248],
    ['/api/jobs/j/client-tool/other', server],
    ['/x/api/jobs/j/client-tool/claim', server],
    ['/api/workflows/background', 262_144],
    ['/api/workflows/hitl', 1_589_248],
  ])('sent to %s is %d bytes', (url, bytes) => {
    expect(bodyLimitOf(url, server)).toBe(bytes);
  });

  it('never exceeds the maximum of the server', () => {
    expect(bodyLimitOf('/api/jobs/j/client-tool/result', 10_000)).toBe(10_000);
  });
});
