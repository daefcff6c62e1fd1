/**
 * Unmodified graphql-transport-ws subscribers in a process of their own. Arguments: url of the socket, key, how many. Prints
 * {"connected": n} when all are connected; then, for each job id it reads as a line, subscribes with every client and
 * prints one line when each has its first event, and one with what was received when all subscriptions have ended.
 */
import { createInterface } from 'node:readline';

import { type Client, createClient } from 'graphql-ws';
import { WebSocket } from 'ws';

import { percentile } from '../measure/statistics.js';
import type { Received } from './subscriber-process.js';

const FOLLOW = `subscription Follow($jobId: ID!) {
  jobEvents(jobId: $jobId, after: 0) { __typename ... on TextDeltaEvent { seq at text } ... on JobFinishedEvent { seq } }
}`;

interface Event {
  readonly __typename: string;
  readonly at?: string;
  readonly text?: string;
}

const [url = '', apiKey = '', count = '1'] = process.argv.slice(2);
const print = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

function connect(): Promise<Client> {
  return new Promise((resolve, reject) => {
    const client = createClient({
      url,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${apiKey}` },
      lazy: false,
      retryAttempts: 0,
      onNonLazyError: reject,
      on: {
        connected: () => {
          resolve(client);
        },
      },
    });
  });
}

async function follow(clients: readonly Client[], jobId: string): Promise<void> {
  const delays: number[] = [];
  let events = 0;
  let text = 0;
  let begun = 0;
  const ends = clients.map((client) => {
    let isFirst = true;
    return new Promise<void>((resolve, reject) => {
      client.subscribe<{ jobEvents: Event }>(
        { query: FOLLOW, variables: { jobId } },
        {
          next: ({ data, errors }) => {
            if (errors !== undefined) reject(new Error(errors[0]?.message));
            if (isFirst && ++begun === clients.length) print({ begun });
            isFirst = false;
            events += 1;
            const event = data?.jobEvents;
            if (event?.at === undefined) return;
            delays.push(Date.now() - Date.parse(event.at));
            text += event.text?.length ?? 0;
          },
          error: (error) => {
            reject(error instanceof Error ? error : new Error(JSON.stringify(error)));
          },
          complete: resolve,
        },
      );
    });
  });
  await Promise.all(ends);
  const received: Received = { events, text, p50Ms: percentile(delays, 50), p99Ms: percentile(delays, 99) };
  print(received);
}

const clients: Client[] = [];
while (clients.length < Number(count)) clients.push(await connect());
print({ connected: clients.length });
for await (const jobId of createInterface({ input: process.stdin })) await follow(clients, jobId);
process.exit();
