import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createNightshift, type JobEvent, type JobHandle, type Nightshift } from '@nightshift/client';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
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

const drops = 100;
const chunksBetween = 20;

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
  it(`reads the same text through ${drops} lost connections during a job of ${drops * chunksBetween} chunks`, async () => {
    const chunks = Array.from({ length: drops * chunksBetween }, (_, n) => `${n} Grüße 🌍 `);
    const groups = Array.from({ length: drops }, (_, n) => chunks.slice(n * chunksBetween, (n + 1) * chunksBetween));
    const gates = groups.map(createGate);
    const body = groups.flatMap((group, n) => [...group.map(textChunk), ...gates.slice(n, n + 1)]);
    model.enqueue({ body: [deltaChunk({ role: 'assistant', content: '' }), ...body, ...end] });

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
    const torn = [deltaChunk({ role: 'assistant', content: '' }), textChunk('It is fou'), gate];
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
    const reply = { body: [deltaChunk({ role: 'assistant', content: '' }), textChunk('Once upon'), gate] };
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
