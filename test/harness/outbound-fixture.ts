import type { lookup as systemLookup } from 'node:dns';

import { afterEach, beforeEach } from '@jest/globals';

import { GuardedFetch, type GuardedFetchOptions, type OutboundRequest, type OutboundResponse } from '#platform';

import { type HttpTarget, startHttpTarget, type TargetHandler } from './http-target.js';

/** A server that stands for a third party's, and its clients, new for each test. */
export class OutboundFixture {
  /** How the server responds; with `hello` unless a test changes it. */
  handler: TargetHandler = () => undefined;
  private current: HttpTarget | undefined;
  private readonly clients: GuardedFetch[] = [];

  constructor() {
    beforeEach(async () => {
      this.handler = (_, response) => response.end('hello');
      this.current = await startHttpTarget((request, response) => {
        this.handler(request, response);
      });
    });
    afterEach(async () => {
      await Promise.all(this.clients.splice(0).map((client) => client.close()));
      await this.target.close();
    });
  }

  get target(): HttpTarget {
    if (this.current === undefined) throw new Error('The server starts before each test.');
    return this.current;
  }

  /** A client that is closed after the test. */
  client(options: GuardedFetchOptions | GuardedFetch = {}): GuardedFetch {
    const made = options instanceof GuardedFetch ? options : new GuardedFetch(options);
    this.clients.push(made);
    return made;
  }

  /** Calls the server as if loopback were allowed. */
  ask(request: Partial<OutboundRequest> = {}, options: GuardedFetchOptions = {}): Promise<OutboundResponse> {
    return this.client({ allowPrivate: true, ...options }).request({ url: this.target.url, ...request });
  }

  answering(status: number, headers: Record<string, string | number>, body: string | Uint8Array = ''): void {
    this.handler = (_, response) => {
      response.writeHead(status, headers).end(body);
    };
  }
}

/** A resolver: names resolve to the addresses of the list, one entry per question; the last one stays. */
export function leading(...answers: readonly (readonly string[])[]): typeof systemLookup {
  let asked = 0;
  return ((_host: string, _options: object, done: (error: Error | null, found: object[]) => void) => {
    const addresses = answers[Math.min(asked++, answers.length - 1)] ?? [];
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    const error = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    done(found.length === 0 ? error : null, found);
  }) as unknown as typeof systemLookup; // only the overload that the agent uses
}
