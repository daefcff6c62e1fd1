import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { GraphqlSocketGateway } from '../../apps/api/src/graphql/sockets/graphql-socket.gateway.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ask, connect, RawSocket } from '../harness/graphql.js';
import { graphqlMember } from '../harness/graphql-member.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import {
  createGate,
  defaultUsage,
  deltaChunk,
  doneLine,
  finishChunk,
  type Gate,
  textChunk,
  textReply,
  toolCallReply,
  usageChunk,
} from '../harness/scripted-reply.js';

describe('GraphQL subscriptions:', () => {
  const events = `subscription Watch($jobId: ID!, $after: Int) {
  jobEvents(jobId: $jobId, after: $after) {
    __typename
    ... on JobEventEntry { seq jobId at attempt }
    ... on JobSnapshotEvent { reset status content }
    ... on TextDeltaEvent { round offset text }
    ... on ToolCallEvent { toolCall { callId name status arguments } }
    ... on ToolCallUpdatedEvent { toolCall { callId status result } }
    ... on RoundFinishedEvent { usage { totalTokens } finishReason toolCallIds }
    ... on JobFinishedEvent { status contentLength usage { totalTokens } }
  }
}`;

  interface Seen {
    readonly __typename: string;
    readonly seq: number;
    readonly text?: string;
    readonly content?: string;
    readonly [field: string]: unknown;
  }

  let database: TestDatabase;
  let model: ScriptedModel;
  let api: TestApi;
  let member: TestMember;

  beforeAll(async () => {
    database = await createTestDatabase();
    model = await ScriptedModel.start();
    const env = {
      MODEL_BASE_URL: model.url,
      STREAMS_PER_PRINCIPAL: '200',
      SOCKETS_PER_USER: '200',
      STREAMS_PER_JOB: '500',
    };
    api = await startTestApi(database, { env });
    member = (await api.people.workspaceOf('stream')).owner;
  });

  afterAll(async () => {
    await api.close();
    await model.close();
    await database.close();
  });

  async function startChat(input: object): Promise<string> {
    const query = 'mutation($input: StartChatInput!) { startChat(input: $input) { jobId status userErrors { code } } }';
    const { data, errors } = await ask(api, query, { key: member.key, variables: { input } });
    expect(errors).toEqual([]);
    expect(data?.['startChat']).toMatchObject({ status: 'QUEUED', userErrors: [] });
    return (data?.['startChat'] as { jobId: string }).jobId;
  }

  /** Returns the events of a job up to its end. */
  async function watch(jobId: string, after?: number, onSeen?: () => void): Promise<readonly Seen[]> {
    const client = connect(api, { apiKey: member.key });
    const seen: Seen[] = [];
    for await (const { data, errors } of client.iterate<{ jobEvents: Seen }>({
      query: events,
      variables: { jobId, after },
    })) {
      expect(errors).toBeUndefined();
      if (data) seen.push(data.jobEvents);
      onSeen?.();
    }
    await client.dispose();
    return seen;
  }

  /** A response that stops in the middle until the test opens the gate. */
  function gatedReply(before: string, gate: Gate, after: string) {
    const end = [finishChunk('stop'), usageChunk(defaultUsage), doneLine];
    return {
      body: [deltaChunk({ role: 'assistant', content: '' }), textChunk(before), gate, textChunk(after), ...end],
    };
  }

  async function jobOf(jobId: string, selection: string) {
    const { data } = await ask(api, `query($id: ID!) { job(id: $id) { ${selection} } }`, {
      key: member.key,
      variables: { id: jobId },
    });
    return data?.['job'] as Readonly<Record<string, unknown>> | null;
  }

  const finished = (jobId: string) =>
    eventually('the job has ended', async () => {
      const job = await jobOf(jobId, 'finishedAt lastSeq');
      return typeof job?.['finishedAt'] === 'string' ? Number(job['lastSeq']) : undefined;
    });

  async function viewers(): Promise<number> {
    const metric = await api.platform.metrics.registry.getSingleMetric('nightshift_viewers')?.get();
    return metric?.values[0]?.value ?? 0;
  }

  describe('jobEvents', () => {
    it('sends a snapshot, the text, the end, and completes', async () => {
      const gate = createGate();
      model.enqueue(gatedReply('Hello', gate, ' wörld'));
      const jobId = await startChat({ message: 'Hi' });
      await eventually('text is stored', async () =>
        (await jobOf(jobId, 'content'))?.['content'] === 'Hello' ? true : undefined,
      );
      const seen = await watch(jobId, undefined, () => {
        gate.open(); // after the first event
      });

      expect(seen[0]?.__typename).toBe('JobSnapshotEvent');
      const from = seen[0]?.seq ?? 0;
      expect(seen.slice(1).map(({ seq }) => seq)).toEqual(seen.slice(1).map((_, i) => from + i + 1));
      const texts = seen.filter(({ __typename }) => __typename === 'TextDeltaEvent').map(({ text }) => text);
      expect(`${seen[0]?.content ?? ''}${texts.join('')}`).toBe('Hello wörld');
      expect(seen.at(-1)).toMatchObject({
        __typename: 'JobFinishedEvent',
        status: 'COMPLETED',
        contentLength: 11,
        jobId,
      });
    });

    it('delivers exactly the later events from every cursor', async () => {
      model.enqueue(
        toolCallReply([{ id: 'call_1', name: 'calculate', arguments: '{"expression":"6*7"}' }]),
        textReply(['It is ', '42', '.']),
      );
      const jobId = await startChat({ message: 'What is 6*7?', tools: ['calculate'] });
      const lastSeq = await finished(jobId);

      const whole = await watch(jobId, 0);
      expect(whole.map(({ seq }) => seq)).toEqual(Array.from({ length: lastSeq }, (_, i) => i + 1));
      expect(whole.map(({ __typename }) => __typename)).toContain('ToolCallEvent');
      for (let after = 0; after <= lastSeq; after += 1) expect(await watch(jobId, after)).toEqual(whole.slice(after));
    });

    it('sends a reset snapshot for a cursor ahead of the log', async () => {
      model.enqueue(textReply(['Done']));
      const jobId = await startChat({ message: 'Hi' });
      await finished(jobId);
      const seen = await watch(jobId, 9_999);
      expect(seen).toMatchObject([
        { __typename: 'JobSnapshotEvent', reset: true, content: 'Done', status: 'COMPLETED' },
      ]);
    });

    it('rejects a negative cursor and an unknown job', async () => {
      const client = connect(api, { apiKey: member.key });
      const failure = async (variables: Record<string, unknown>) => {
        for await (const { errors } of client.iterate({ query: events, variables })) return errors?.[0]?.extensions;
        return undefined;
      };
      expect(await failure({ jobId: '00000000-0000-7000-8000-000000000000' })).toMatchObject({ code: 'NOT_FOUND' });
      expect(await failure({ jobId: 'nonsense', after: 0 })).toMatchObject({ code: 'NOT_FOUND' });
      expect(await failure({ jobId: 'nonsense', after: -1 })).toMatchObject({
        code: 'BAD_USER_INPUT',
        reason: 'invalid_cursor',
      });
      await client.dispose();
    });

    it('releases everything of a viewer that leaves', async () => {
      const gate = createGate();
      model.enqueue(gatedReply('a', gate, 'b'));
      const jobId = await startChat({ message: 'Hi' });
      const client = connect(api, { apiKey: member.key });
      const iterator = client.iterate<{ jobEvents: Seen }>({ query: events, variables: { jobId } });
      await iterator.next();
      expect(await viewers()).toBeGreaterThan(0);
      await iterator.return?.();
      await eventually('no viewer is left', async () => ((await viewers()) === 0 ? true : undefined));
      await client.dispose();
      gate.open();
      await finished(jobId);
    });
  });

  describe('workspaceActivity', () => {
    it('reports each job whose status changes', async () => {
      const client = connect(api, { authorization: `Bearer ${member.key}` });
      const iterator = client.iterate<{ workspaceActivity: { jobId: string; status: string } }>({
        query: 'subscription { workspaceActivity { jobId status lastSeq } }',
      });
      const moved: string[] = [];
      const watching = (async () => {
        for await (const { data } of iterator) {
          if (data) moved.push(`${data.workspaceActivity.jobId} ${data.workspaceActivity.status}`);
          if (data?.workspaceActivity.status === 'COMPLETED') return;
        }
      })();
      const jobs: string[] = [];
      await eventually('the end of a job is reported', async () => {
        model.enqueue(textReply(['ok']));
        const jobId = await startChat({ message: 'Hi' });
        jobs.push(jobId);
        await finished(jobId);
        return moved.some((line) => line.endsWith('COMPLETED')) ? true : undefined;
      });
      await watching;
      expect(jobs).toContain(moved.at(-1)?.split(' ')[0]);
      await client.dispose();
    });
  });
});

describe('GraphQL sockets:', () => {
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
});
