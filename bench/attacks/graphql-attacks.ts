import type { Attack } from './attack.js';
import { hostileQueries, hostileSubscriptions, introspections } from './hostile-documents.js';
import { closeOf, openSocket } from './open-socket.js';
import { type Attacking, sendMany } from './send.js';

function documents(name: string, about: string, writers: readonly ((n: number) => string)[]): Attack {
  return {
    name,
    about,
    run: (target, bounds, outcomes) =>
      sendMany({ target, bounds, outcomes }, { count: 1_000_000, width: 20 }, (i) => ({
        path: '/graphql',
        body: JSON.stringify({ query: writers[i % writers.length]?.(i) ?? '' }),
      })),
  };
}

/** As many wrong values as fit into the largest body. */
const variables: Attack = {
  name: 'graphql-variables',
  about: '100 requests with 4 MB of wrong variables, 10 at a time',
  run: (target, bounds, outcomes) => {
    const query = 'query($ids: [ID!]!) { nodes(ids: $ids) { nodeId } }';
    const ids = [
      Array.from({ length: 1_300_000 }, () => ({})),
      Array.from({ length: 900_000 }, () => 1.5),
      Array.from({ length: 49_999 }, () => 1.5),
      Array.from({ length: 49_999 }, () => 'x'),
    ];
    const bodies = ids.map((list) => JSON.stringify({ query, variables: { ids: list } }));
    return sendMany({ target, bounds, outcomes }, { count: 100, width: 10 }, (i) => ({
      path: '/graphql',
      body: bodies[i % bodies.length] ?? '',
    }));
  },
};

/** Sends hostile operations over 15 connections as fast as the server lets it, and comes back when it is disconnected. */
async function floodSockets({ target, bounds, outcomes }: Attacking, queries: readonly ((n: number) => string)[]) {
  let n = 0;
  const flood = async () => {
    while (!bounds.signal.aborted) {
      const socket = await openSocket(target, bounds);
      if (socket === null) continue;
      const closed = closeOf(socket);
      socket.on('message', (data: Buffer) => {
        outcomes.count(/"code":"(\w+)"/.exec(data.toString())?.[1] ?? 'result');
      });
      const timer = setInterval(() => {
        n += 1;
        socket.send(
          JSON.stringify({ id: String(n), type: 'subscribe', payload: { query: queries[n % queries.length]?.(n) } }),
        );
      }, 20);
      outcomes.count(await closed);
      clearInterval(timer);
    }
  };
  await Promise.all(Array.from({ length: 15 }, flood));
}

/** Attacks with documents and variables. */
export const graphqlAttacks: readonly Attack[] = [
  documents(
    'graphql-documents',
    'documents at the limits that aim at each phase, all different, 20 at a time',
    hostileQueries,
  ),
  documents('graphql-introspection', 'expensive introspections, all different, 20 at a time', introspections),
  variables,
  {
    name: 'graphql-subscriptions',
    about: 'subscriptions with fragments that double each other 180 times, 50 a second on each of 15 WebSockets',
    run: (target, bounds, outcomes) =>
      floodSockets({ target, bounds, outcomes }, [...hostileSubscriptions, ...hostileQueries.slice(0, 6)]),
  },
];
