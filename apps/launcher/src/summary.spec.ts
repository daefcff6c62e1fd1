import { PassThrough } from 'node:stream';

import { describe, expect, it } from '@jest/globals';

import { Config } from '#platform';

import { printSummary, type SummaryFacts } from './summary.js';
import { Terminal } from './terminal/terminal.js';

const idle = { close: () => Promise.resolve(), hurry: () => Promise.resolve() };
const facts: SummaryFacts = {
  config: Config.from({}),
  databaseLabel: 'Postgres at db.example:5432/nightshift',
  modelLabel: 'gpt-x at OpenAI',
  running: { url: 'https://127.0.0.1:4000', healthUrl: null, ...idle },
  demoKey: { text: 'nsk_abcdefghijkl_0123456789', state: 'new', file: '/data/demo-api-key' },
  startedInMs: 1_234,
  dataDir: '/data',
  checkout: '/src/nightshift',
};

function printed(changes: Partial<SummaryFacts>, isTTY = false): string {
  const out = Object.assign(new PassThrough(), { isTTY });
  printSummary(new Terminal(out, { noColor: true }), { ...facts, ...changes });
  return String(out.read());
}

describe('printSummary', () => {
  it('prints the role, the database, the limits and the URLs', () => {
    expect(printed({}, true)).toMatchInlineSnapshot(`
"Nightshift is ready: role all, in 1.2 s
  database  Postgres at db.example:5432/nightshift
  bus       memory
  model     gpt-x at OpenAI
  limits    20 jobs at once (WORKER_SLOTS), 10 rounds and 5 min a job, 20 tool calls a round, 10 s a tool
  isolated  20 tool calls at once, 10 of a workspace, 10 of a tool
  GraphQL   https://127.0.0.1:4000/graphql (an explorer in a browser; subscriptions: wss://127.0.0.1:4000/graphql)
  REST      https://127.0.0.1:4000/api/jobs (all routes: https://127.0.0.1:4000/docs)
  OpenAI    https://127.0.0.1:4000/v1 as the base URL of any SDK
  API key   nsk_abcdefghijkl_0123456789  shown once; stored in /data/demo-api-key
  terminal  cd /src/nightshift && npx nightshift --data-dir /data run "What is 17 * 23?" --tools calculate

"
`);
  });

  it('prints no explorer with GRAPHQL_EXPLORER=false', () => {
    const text = printed({ config: Config.from({ GRAPHQL_EXPLORER: 'false' }) });

    expect(text).toContain('/graphql (subscriptions: wss://127.0.0.1:4000/graphql)');
  });

  it('prints a command without --data-dir for the folder that the command line finds by itself', () => {
    expect(printed({ dataDir: '/src/nightshift/.nightshift' })).toContain(
      'cd /src/nightshift && npx nightshift run "What is 17 * 23?" --tools calculate',
    );
    expect(printed({ dataDir: '/my data' })).toContain('npx nightshift --data-dir "/my data" run');
  });

  it('prints a new key only to a terminal, and its file to a log', () => {
    const text = printed({});

    expect(text).toContain('nsk_abcdefghijkl…  the whole key is in /data/demo-api-key, readable by its owner only');
    expect(text).not.toContain('0123456789');
  });

  it('prints only the public part of a key of an earlier start', () => {
    const text = printed({
      demoKey: { text: 'nsk_abcdefghijkl_0123456789', state: 'kept', file: '/data/demo-api-key' },
    });

    expect(text).toContain('nsk_abcdefghijkl…');
    expect(text).not.toContain('0123456789');
  });

  it('explains how to replace a revoked key, and prints no command that needs it', () => {
    const text = printed({
      demoKey: { text: 'nsk_abcdefghijkl_0123456789', state: 'revoked', file: '/data/demo-api-key' },
    });

    expect(text).toContain(
      'nsk_abcdefghijkl…  was revoked; to get a new one, delete /data/demo-api-key and start again',
    );
    expect(text).not.toContain('terminal');
  });

  it('reports that /metrics of the API needs METRICS_TOKEN', () => {
    const running = { url: 'http://127.0.0.1:4000', healthUrl: 'http://127.0.0.1:4000', ...idle };

    expect(printed({ running })).toContain('/readyz, /metrics once METRICS_TOKEN is set');
    const config = Config.from({ METRICS_TOKEN: 'a-token-of-at-least-16-characters' });
    expect(printed({ running, config })).toMatch(/\/readyz, \/metrics\n/);
  });

  it('prints only the limits of the roles that run in the process', () => {
    const text = printed({ config: Config.from({ ROLE: 'tools' }) });

    expect(text).toContain('20 tool calls at once');
    expect(text).not.toContain('jobs at once');
  });

  it('prints only the health endpoint for a worker', () => {
    const text = printed({ running: { url: null, healthUrl: 'http://127.0.0.1:9400', ...idle }, demoKey: null });

    expect(text).not.toContain('GraphQL');
    expect(text).toContain('http://127.0.0.1:9400/healthz');
  });
});
