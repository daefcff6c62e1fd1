import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createNightshift } from '@nightshift/client';

import { startTestApi, type TestApi } from '../harness/api.js';
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

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
  await api.people.workspaceOf('tokens');
});
afterAll(async () => {
  await api.close();
  await model.close();
  await database.close();
});

describe('NightshiftClient with expiring tokens', () => {
  it('requests a new token when the server closes its socket, and loses no text', async () => {
    const tokens: string[] = [];
    const getToken = async () => {
      const token = await api.people.tokenOf('tokens-owner', tokens.length === 0 ? 2 : 3_600);
      tokens.push(token);
      return token;
    };
    const nightshift = createNightshift({ url: api.url, getToken });
    const gate = createGate();
    const end = [finishChunk('stop'), usageChunk(defaultUsage), doneLine];
    const body = [deltaChunk({ role: 'assistant', content: '' }), textChunk('Be'), gate, textChunk('fore'), ...end];
    model.enqueue({ body });
    const job = await nightshift.startChat({ message: 'Hi' });
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
    nightshift.close();
  });

  it('requests one new token when the server refuses many requests', async () => {
    let asked = 0;
    const getToken = async () => {
      asked += 1;
      return asked === 1 ? 'no token at all' : api.people.tokenOf('tokens-owner');
    };
    const nightshift = createNightshift({ url: api.url, getToken });
    model.enqueue(...Array.from({ length: 5 }, () => textReply(['ok'])));
    const jobs = await Promise.all(Array.from({ length: 5 }, () => nightshift.startChat({ message: 'Hi' })));
    expect(await Promise.all(jobs.map((job) => job.text()))).toEqual(Array.from({ length: 5 }, () => 'ok'));
    expect(asked).toBe(2);
    nightshift.close();
  });

  it('rejects when the server refuses the new token too', async () => {
    let asked = 0;
    const nightshift = createNightshift({
      url: api.url,
      getToken: () => {
        asked += 1;
        return `no token ${asked}`;
      },
    });
    const refusal = { name: 'NightshiftError', code: 'unauthenticated', retryable: false };
    await expect(nightshift.startChat({ message: 'Hi' })).rejects.toMatchObject(refusal);
    await expect(nightshift.job('any').events().next()).rejects.toMatchObject(refusal);
    expect(asked).toBeLessThanOrEqual(4);
    nightshift.close();
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
