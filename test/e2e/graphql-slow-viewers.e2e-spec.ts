import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { GraphqlSocketGateway } from '../../apps/api/src/graphql/sockets/graphql-socket.gateway.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { RawSocket } from '../harness/graphql.js';
import { graphqlMember } from '../harness/graphql-member.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, deltaChunk, doneLine, finishChunk, textChunk } from '../harness/scripted-reply.js';

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let owner: TestMember;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  const env = {
    SLOW_VIEWER_BYTES: '65536',
    SLOW_VIEWER_MS: '300',
    STREAMS_PER_PRINCIPAL: '100',
    SOCKETS_PER_USER: '100',
  };
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url, ...env } });
  ({ owner } = await api.people.workspaceOf('slow'));
});

afterAll(async () => {
  await api.close();
  await model.close();
  await database.close();
});

const query = 'subscription($jobId: ID!) { jobEvents(jobId: $jobId) { __typename ... on TextDeltaEvent { text } } }';

async function watch(jobId: string, count: number): Promise<RawSocket> {
  const socket = await RawSocket.enter(api, owner.key);
  for (let i = 0; i < count; i += 1) {
    socket.send({ id: String(i), type: 'subscribe', payload: { query, variables: { jobId } } });
    await socket.until(({ id }) => id === String(i));
  }
  return socket;
}

async function viewers(): Promise<number> {
  const metric = await api.platform.metrics.registry.getSingleMetric('nightshift_viewers')?.get();
  return metric?.values[0]?.value ?? 0;
}

describe('GraphQL socket of a viewer that stops reading', () => {
  it('closes without delaying other viewers and leaves nothing behind', async () => {
    const gate = createGate();
    const piece = 'x'.repeat(20_000);
    const texts = Array.from({ length: 150 }, () => textChunk(piece));
    model.enqueue({
      body: [deltaChunk({ role: 'assistant', content: '' }), gate, ...texts, finishChunk('stop'), doneLine],
    });
    const { jobId } = await graphqlMember(api, owner.key).start({ message: 'Talk' });
    // Many views on one socket: 3 MB of text become far more than what the kernel holds for a peer that does not read.
    const stuck = await watch(jobId ?? '', 20);
    const reading = await watch(jobId ?? '', 1);
    stuck.socket.pause();
    gate.open();

    await reading.until(({ type }) => type === 'complete');
    const received = reading.messages.map(({ payload }) => JSON.stringify(payload)).join('');
    expect(received.split('x').length - 1).toBeGreaterThanOrEqual(150 * 20_000);
    const openSockets = api.api.app.get(GraphqlSocketGateway, { strict: false });
    await eventually('the stuck viewer is cut off', () => (openSockets.size === 1 ? true : undefined));
    await eventually('no viewer is left', async () => ((await viewers()) === 0 ? true : undefined));
    reading.close();
    stuck.socket.terminate();
  });
});

describe('GraphQL socket of a dead peer', () => {
  it('closes after an unanswered ping, and the others stay', async () => {
    const openSockets = api.api.app.get(GraphqlSocketGateway, { strict: false });
    await eventually('the sockets of others are gone', () => (openSockets.size === 0 ? true : undefined));
    const [dead, alive] = [await RawSocket.enter(api, owner.key), await RawSocket.enter(api, owner.key)];
    const pinged = new Promise((resolve) => alive.socket.once('ping', resolve));
    dead.socket.pause();
    openSockets.dropSilent();
    await pinged;
    // The response comes before anything that the client sends after it.
    alive.send({ type: 'ping' });
    await alive.until(({ type }) => type === 'pong');
    openSockets.dropSilent();
    await eventually('the dead peer is dropped', () => (openSockets.size === 1 ? true : undefined));
    expect(alive.socket.readyState).toBe(alive.socket.OPEN);
    alive.close();
    dead.socket.terminate();
  });
});
