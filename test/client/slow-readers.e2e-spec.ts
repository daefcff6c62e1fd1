import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createNightshift, type JobEvent } from '@nightshift/client';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, textChunk, textReply } from '../harness/scripted-reply.js';

/** More than a reader keeps. */
const pieces = 400;

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let member: TestMember;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url, DELTA_FLUSH_MS: '1' } });
  member = (await api.people.workspaceOf('slow')).owner;
});
afterAll(async () => {
  await api.close();
  await model.close();
  await database.close();
});

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

describe('NightshiftClient with a slow reader', () => {
  it('buffers only a part of the events and misses none', async () => {
    const spoken = Array.from({ length: pieces }, (_, n) => `${n} `);
    const gates = spoken.map(createGate);
    model.enqueue({
      body: [...spoken.flatMap((piece, n) => [...gates.slice(n, n + 1), textChunk(piece)]), ...textReply([]).body],
    });
    const nightshift = createNightshift({ url: api.url, token: member.key, webSocket: CountedSocket });
    const job = await nightshift.startChat({ message: 'Speak' });
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
    expect(seen.map((event) => (event.__typename === 'TextDeltaEvent' ? event.text : '')).join('')).toBe(
      spoken.join(''),
    );
    // Otherwise this has shown nothing.
    expect(seen.length).toBeGreaterThan(pieces);
    expect(came).toBeLessThan(pieces);
    expect(traffic.subscribed).toBeGreaterThan(1);
    nightshift.close();
    other.close();
  });
});
