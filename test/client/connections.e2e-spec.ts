import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createNightshift, type JobEvent, type JobHandle, type Nightshift } from '@nightshift/client';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { documentExample } from '../harness/document-example.js';
import { eventually } from '../harness/eventually.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import {
  createGate,
  defaultUsage,
  deltaChunk,
  doneLine,
  finishChunk,
  textChunk,
  textReply,
  usageChunk,
} from '../harness/scripted-reply.js';
import { type Cut, TcpProxy } from '../harness/tcp-proxy.js';

let database: TestDatabase;
let model: ScriptedModel;
let member: TestMember;
let api: TestApi;
let proxy: TcpProxy;
let nightshift: Nightshift;

const startApi = () =>
  startTestApi(database, { env: { MODEL_BASE_URL: model.url, DELTA_FLUSH_MS: '5', WORKER_DRAIN_MS: '100' } });

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  api = await startApi();
  member = (await api.people.workspaceOf('client')).owner;
  proxy = await TcpProxy.start(api.url);
  nightshift = createNightshift({
    url: proxy.url,
    token: member.key,
    reconnect: { firstDelayMs: 5, maxDelayMs: 50 },
  });
});
afterEach(() => {
  model.assertDone();
});
afterAll(async () => {
  nightshift.close();
  await proxy.close();
  await api.close();
  await model.close();
  await database.close();
});

/** How a scripted response of the model begins and ends. */
const role = deltaChunk({ role: 'assistant', content: '' });
const end = [finishChunk('stop'), usageChunk(defaultUsage), doneLine];

/** Reads the log to its end; throws where a number is missing or comes twice. */
async function readAll(job: JobHandle): Promise<readonly JobEvent[]> {
  const seen: JobEvent[] = [];
  for await (const event of job.events()) {
    if (event.seq !== seen.length + 1) throw new Error(`number ${event.seq} after ${seen.length} events`);
    seen.push(event);
  }
  return seen;
}

const textOf = (events: readonly JobEvent[]) =>
  events.map((event) => (event.__typename === 'TextDeltaEvent' ? event.text : '')).join('');

describe('NightshiftClient with lost connections', () => {
  const drops = 100;
  const chunksBetween = 20;

  it(`reads the same text through ${drops} lost connections during a job of ${drops * chunksBetween} chunks`, async () => {
    const chunks = Array.from({ length: drops * chunksBetween }, (_, n) => `${n} Grüße 🌍 `);
    const groups = Array.from({ length: drops }, (_, n) => chunks.slice(n * chunksBetween, (n + 1) * chunksBetween));
    const gates = groups.map(createGate);
    const body = groups.flatMap((group, n) => [...group.map(textChunk), ...gates.slice(n, n + 1)]);
    model.enqueue({ body: [role, ...body, ...end] });

    const job = await nightshift.startChat({ message: 'Speak' });
    const whole = job.text();
    const log = readAll(job);
    const kinds: readonly Cut[] = ['reset', 'torn', 'end'];
    let shown = '';
    let dropped = 0;
    // The model continues only once the client has its text: the connection is cut at each such instant, with more to come.
    for await (const change of job.textStream()) {
      shown = shown.slice(0, change.keep) + change.append;
      expect(change.text).toBe(shown);
      if (shown.length < chunks.slice(0, (dropped + 1) * chunksBetween).join('').length) continue;
      await eventually('it is connected', () => (proxy.open > 0 ? true : undefined));
      proxy.cut(kinds[dropped % kinds.length] ?? 'end');
      gates[dropped]?.open();
      dropped += 1;
    }

    const spoken = chunks.join('');
    expect(dropped).toBe(drops);
    expect(proxy.cuts).toBeGreaterThanOrEqual(drops);
    expect(shown).toBe(spoken);
    expect(await whole).toBe(spoken);
    expect(textOf(await log)).toBe(spoken);
  });

  it('withdraws the text of a round that the model restarts', async () => {
    const gate = createGate();
    const torn = [role, textChunk('It is fou'), gate];
    model.enqueue({ body: torn, end: 'destroy' }, textReply(['It is ', 'five']));
    const job = await nightshift.startChat({ message: 'How many?' });
    const shown: string[] = [];
    for await (const { text } of job.textStream()) {
      shown.push(text);
      if (text !== 'It is fou') continue;
      proxy.cut('reset');
      gate.open();
    }
    expect(shown.at(0)).toBe('It is fou');
    expect(shown.at(-1)).toBe('It is five');
    expect(await job.text()).toBe('It is five');
  });

  it('continues at the next server after a server restart', async () => {
    const gate = createGate();
    const reply = { body: [role, textChunk('Once upon'), gate] };
    model.enqueue(reply, textReply(['Once upon ', 'a time']));
    const job = await nightshift.startChat({ message: 'Tell me' });
    const log = readAll(job);
    let last = '';
    for await (const { text } of job.textStream()) {
      last = text;
      if (text !== 'Once upon') continue;
      await api.close();
      api = await startApi();
      proxy.target = api.url;
    }
    gate.open();
    expect(last).toBe('Once upon a time');
    expect((await log).filter(({ __typename }) => __typename === 'JobStartedEvent')).toHaveLength(2);
  });
});

describe('NightshiftClient with a slow reader', () => {
  /** More than a reader keeps. */
  const pieces = 400;
  /** Follows: how many subscriptions were begun, and how many events came, read or not. */
  const traffic = { subscribed: 0, came: 0 };

  class CountedSocket extends WebSocket {
    constructor(url: string, protocol: string) {
      super(url, protocol);
      this.addEventListener('message', ({ data }) => {
        if (String(data).includes('"next"')) traffic.came += 1;
      });
    }

    override send(text: string): void {
      if (text.includes('"type":"subscribe"')) traffic.subscribed += 1;
      super.send(text);
    }
  }

  it('buffers only a part of the events and misses none', async () => {
    const spoken = Array.from({ length: pieces }, (_, n) => `${n} `);
    const gates = spoken.map(createGate);
    model.enqueue({
      body: [...spoken.flatMap((piece, n) => [...gates.slice(n, n + 1), textChunk(piece)]), ...textReply([]).body],
    });
    const client = createNightshift({ url: api.url, token: member.key, webSocket: CountedSocket });
    const job = await client.startChat({ message: 'Speak' });
    const reader = job.events();
    const seen: JobEvent[] = [];
    const take = async () => {
      const { value } = await reader.next();
      if (value !== undefined) seen.push(value);
      return value !== undefined;
    };
    await take();
    const other = createNightshift({ url: api.url, token: member.key });
    // The model sends the next piece once this one has arrived, so each piece is an event of its own.
    gates[0]?.open();
    let heard = 0;
    for await (const { text } of other.job(job.id).textStream()) {
      while (heard < pieces && text.length >= spoken.slice(0, heard + 1).join('').length) {
        heard += 1;
        gates[heard]?.open();
      }
    }
    expect((await other.job(job.id).result()).content).toBe(spoken.join(''));
    const { came } = traffic;
    while (await take());
    expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, index) => index + 1));
    expect(textOf(seen)).toBe(spoken.join(''));
    // Otherwise this has shown nothing.
    expect(seen.length).toBeGreaterThan(pieces);
    expect(came).toBeLessThan(pieces);
    expect(traffic.subscribed).toBeGreaterThan(1);
    client.close();
    other.close();
  });
});

describe('NightshiftClient with expiring tokens', () => {
  it('requests a new token when the server closes its socket, and loses no text', async () => {
    const tokens: string[] = [];
    const getToken = async () => {
      const token = await api.people.tokenOf('client-owner', tokens.length === 0 ? 2 : 3_600);
      tokens.push(token);
      return token;
    };
    const client = createNightshift({ url: api.url, getToken });
    const gate = createGate();
    const body = [role, textChunk('Be'), gate, textChunk('fore'), ...end];
    model.enqueue({ body });
    const job = await client.startChat({ message: 'Hi' });
    const text = job.text();
    for await (const event of job.events())
      if (event.__typename === 'TextDeltaEvent' && event.text === 'Be') {
        // The token of the socket ends while no event is sent.
        void eventually('another token was asked for', () => (tokens.length > 1 ? true : undefined)).then(() => {
          gate.open();
        });
      }
    expect(await text).toBe('Before');
    expect(tokens.length).toBeGreaterThan(1);
    client.close();
  });

  it('requests one new token when the server refuses many requests', async () => {
    let asked = 0;
    const getToken = async () => {
      asked += 1;
      return asked === 1 ? 'no token at all' : api.people.tokenOf('client-owner');
    };
    const client = createNightshift({ url: api.url, getToken });
    model.enqueue(...Array.from({ length: 5 }, () => textReply(['ok'])));
    const jobs = await Promise.all(Array.from({ length: 5 }, () => client.startChat({ message: 'Hi' })));
    expect(await Promise.all(jobs.map((job) => job.text()))).toEqual(Array.from({ length: 5 }, () => 'ok'));
    expect(asked).toBe(2);
    client.close();
  });

  it('rejects when the server refuses the new token too', async () => {
    let asked = 0;
    const client = createNightshift({
      url: api.url,
      getToken: () => {
        asked += 1;
        return `no token ${asked}`;
      },
    });
    const refusal = { name: 'NightshiftError', code: 'unauthenticated', retryable: false };
    await expect(client.startChat({ message: 'Hi' })).rejects.toMatchObject(refusal);
    await expect(client.job('any').events().next()).rejects.toMatchObject(refusal);
    expect(asked).toBeLessThanOrEqual(4);
    client.close();
  });

  it('rejects with UNAUTHENTICATED when it has no token and when the server refuses its only token', async () => {
    const without = createNightshift({ url: api.url, getToken: () => Promise.reject(new Error('signed out')) });
    const unavailable = { code: 'token_unavailable', cause: { message: 'signed out' } };
    await expect(without.jobs.list()).rejects.toMatchObject(unavailable);
    await expect(without.job('any').events().next()).rejects.toMatchObject(unavailable);
    const refused = createNightshift({ url: api.url, token: 'nsk_nonsense' });
    await expect(refused.jobs.list()).rejects.toMatchObject({ code: 'unauthenticated' });
    await expect(refused.job('any').events().next()).rejects.toMatchObject({ code: 'unauthenticated' });
  });
});

describe('client recipes:', () => {
  const run = promisify(execFile);
  /** Where nothing listens. */
  const closedPort = 'http://127.0.0.1:1';
  let folder: string;

  beforeAll(() => {
    // Packages are found from here, and Node runs TypeScript outside of node_modules only.
    folder = mkdtempSync(join(process.cwd(), 'dist', 'recipes-'));
    writeFileSync(join(folder, 'follow-text.mts'), documentExample('docs/clients.md', 'follow-text'));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  /** Resolves when so many follow a job. */
  async function viewers(count: number): Promise<void> {
    await eventually(`${count} are watching`, async () => {
      const metric = await api.platform.metrics.registry.getSingleMetric('nightshift_viewers')?.get();
      return metric?.values[0]?.value === count ? true : undefined;
    });
  }

  it.each(['graphql-ws', 'apollo', 'urql'])(
    'the %s recipe reads the exact text after lost connections',
    async (name) => {
      const gates = [createGate(), createGate()];
      const file = join(folder, `${name}.mts`);
      writeFileSync(file, documentExample('docs/clients.md', `recipe-${name}`));
      // One round is withdrawn, and the connection is cut before each piece of text.
      model.enqueue({ body: [role, textChunk('It is fou'), ...gates.slice(0, 1)], end: 'destroy' });
      const { body } = textReply([' five', ', my', ' friend']);
      model.enqueue({ body: [role, textChunk('It is'), ...gates.slice(1), ...body] });

      const env = { PATH: process.env['PATH'], NIGHTSHIFT_URL: proxy.url, NIGHTSHIFT_KEY: member.key };
      const running = run(process.execPath, [file], { env });
      for (const gate of gates) {
        await viewers(1);
        proxy.target = closedPort; // so that no client reconnects before the test notices the loss
        proxy.cut('reset');
        await viewers(0);
        gate.open();
        proxy.target = api.url;
      }
      expect((await running).stdout).toBe('It is five, my friend\n');
    },
  );
});
