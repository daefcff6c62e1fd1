import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  createNightshift,
  type Interrupt,
  type Nightshift,
  type OnQuestion,
  type ToolContext,
} from '@nightshift/client';

import { WorkflowsService } from '#workflows';

import { announceDue } from '../harness/announce-due.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ask } from '../harness/graphql.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { publish, sketch } from '../harness/workflows.js';

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let member: TestMember;
const clients: Nightshift[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
  member = (await api.people.workspaceOf('serving')).owner;
});
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
  model.assertDone();
});
afterAll(async () => {
  await api.close();
  await model.close();
  await database.close();
});

function client(deviceId?: string, through?: typeof fetch): Nightshift {
  const opened = createNightshift({
    url: api.url,
    token: member.key,
    deviceId,
    fetch: through,
    timeouts: { claimMs: 50 },
  });
  clients.push(opened);
  return opened;
}

const START = 'mutation($input: StartChatInput!) { startChat(input: $input) { jobId } }';
const CLAIM = 'mutation($input: ClaimClientToolInput!) { claimClientTool(input: $input) { claim { claimToken } } }';

const callOf = (id: string, name: string, args: object) =>
  toolCallReply([{ id, name, arguments: JSON.stringify(args) }]);

/** The result of the last call, as the model received it. */
const lastResult = () =>
  (model.requests.at(-1)?.json['messages'] as { role: string; content: string }[]).findLast(
    ({ role }) => role === 'tool',
  )?.content;

const countWords = {
  description: 'Counts words',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  effect: 'PURE' as const,
};

describe('NightshiftClient.serve with client tools', () => {
  it('declares a tool at the start, runs it with its arguments and sends its result to the model', async () => {
    model.enqueue(callOf('c1', 'count_words', { text: 'to be or not' }), textReply(['Four.']));
    let seen: ToolContext | undefined;
    const job = await client().startChat({
      message: 'How many words?',
      tools: {
        count_words: {
          ...countWords,
          run: ({ text }: { text: string }, context) => {
            seen = context;
            return { words: text.split(' ').length };
          },
        },
      },
    });
    expect(await job.text()).toBe('Four.');
    expect(seen).toMatchObject({ jobId: job.id, callId: 'c1', name: 'count_words' });
    expect(lastResult()).toBe('{"words":4}');
  });

  it('reports the error of a throwing tool to the model and to the application', async () => {
    model.enqueue(callOf('c1', 'now', {}), textReply(['Never mind.']));
    const onError = jest.fn();
    const run = () => Promise.reject(new Error('the clock is broken'));
    const job = await client().startChat({ message: 'Time?', tools: { now: run }, onError });
    expect(await job.text()).toBe('Never mind.');
    expect(lastResult()).toContain('the clock is broken');
    expect(onError).toHaveBeenCalledWith(new Error('the clock is broken'), expect.objectContaining({ callId: 'c1' }));
  });

  it('runs a call in one of many clients', async () => {
    const rounds = 5;
    const ran: string[] = [];
    const toolsOf = (name: string) => ({
      count_words: {
        ...countWords,
        run: (_: object, { callId }: ToolContext) => {
          ran.push(callId);
          return name;
        },
      },
    });
    const calls = Array.from({ length: rounds }, (_, n) => callOf(`c${n}`, 'count_words', { text: `${n}` }));
    model.enqueue(...calls, textReply(['Done.']));
    const onError = jest.fn();
    const job = await client().startChat({ message: 'Count', tools: toolsOf('first'), onError });
    const others = Array.from({ length: 4 }, (_, n) =>
      client()
        .job(job.id)
        .serve({ tools: toolsOf(`${n}`), onError }),
    );
    expect(await job.text()).toBe('Done.');
    await Promise.all(others);
    expect(ran).toEqual(calls.map((_, n) => `c${n}`));
    expect(onError).not.toHaveBeenCalled();
  });

  it('moves a call to another client when the client that claimed it is lost', async () => {
    model.enqueue(callOf('c1', 'count_words', { text: 'a b' }), textReply(['Two.']));
    const { data } = await ask(api, START, {
      key: member.key,
      variables: { input: { message: 'Count', clientTools: [{ name: 'count_words', ...countWords }] } },
    });
    const { jobId } = data?.['startChat'] as { jobId: string };
    await eventually('a client has claimed the call', async () => {
      const input = { jobId, callId: 'c1', deviceId: 'lost' };
      const claimed = await ask(api, CLAIM, { key: member.key, variables: { input } });
      return (claimed.data?.['claimClientTool'] as { claim: object | null }).claim ?? undefined;
    });
    const setClaim = (until: string) =>
      database.postgres.workerPool.query(`UPDATE interrupt SET claim_until = ${until} WHERE job_id = $1`, [jobId]);
    await setClaim(`clock_timestamp() + interval '1 h'`); // the test decides when it lapses
    const refused = Promise.withResolvers<undefined>();
    const one = client('another', async (...asked) => {
      const reply = await fetch(...asked);
      if ((await reply.clone().text()).includes('already_claimed')) refused.resolve(undefined);
      return reply;
    });
    const run = jest.fn(() => 'two');
    const served = one.job(jobId).serve({ tools: { count_words: run } });
    await refused.promise;
    expect(run).not.toHaveBeenCalled();
    await setClaim(`clock_timestamp() - interval '1 s'`);
    await announceDue(database);
    expect(await one.job(jobId).text()).toBe('Two.');
    await served;
    expect(run).toHaveBeenCalledTimes(1);
  });

  it('ignores a call of an unknown tool and a call for another device', async () => {
    model.enqueue(callOf('c1', 'count_words', { text: 'a b' }), textReply(['Two.']));
    const declared = {
      clientDeviceId: 'laptop',
      tools: { count_words: { ...countWords, run: () => 'from the laptop' } },
    };
    const wrong = jest.fn(() => 'from the phone');
    const job = await client('laptop').startChat({ message: 'Count', ...declared });
    const phone = client('phone')
      .job(job.id)
      .serve({ tools: { count_words: wrong } });
    const idle = client('laptop')
      .job(job.id)
      .serve({ tools: { other: wrong } });
    expect(await job.text()).toBe('Two.');
    await Promise.all([phone, idle]);
    expect(wrong).not.toHaveBeenCalled();
    expect(lastResult()).toBe('from the laptop');
  });

  it('aborts the tool when the job is cancelled', async () => {
    model.enqueue(callOf('c1', 'count_words', { text: 'a' }));
    const stopped = Promise.withResolvers<string>();
    const cancelled = Promise.withResolvers<unknown>();
    const job = await client().startChat({
      message: 'Count',
      tools: {
        count_words: {
          ...countWords,
          run: (_, { signal }) =>
            new Promise((resolve) => {
              cancelled.resolve(job.cancel());
              signal.addEventListener('abort', () => {
                stopped.resolve('aborted');
                resolve('late');
              });
            }),
        },
      },
    });
    expect(await stopped.promise).toBe('aborted');
    expect(await job.result()).toMatchObject({ status: 'CANCELLED' });
    await cancelled.promise;
  });
});

describe('NightshiftClient.serve with approvals', () => {
  const needsApproval = {
    message: 'What is 6*7?',
    serverTools: ['calculate'],
    toolApproval: { rules: [{ match: 'calculate', action: 'require_approval' }] },
  };
  const calculate = () => callOf('c1', 'calculate', { expression: '6*7' });

  it.each([
    ['approves', 'approve' as const, '42'],
    ['edits', { edit: { expression: '6*8' } }, '48'],
    ['denies', 'deny' as const, 'rejected'],
    ['denies with a reason', { deny: 'not today' }, 'not today'],
  ])('asks the application for an approval, which %s', async (_, approval, result) => {
    model.enqueue(calculate(), textReply(['So be it.']));
    const asked: Interrupt[] = [];
    const onApproval = (request: Interrupt) => {
      asked.push(request);
      return approval;
    };
    const job = await client().startChat({ ...needsApproval, onApproval });
    expect(await job.text()).toBe('So be it.');
    expect(asked).toMatchObject([{ kind: 'TOOL_APPROVAL', tool: 'calculate', mayDecide: true }]);
    expect(lastResult()?.toLowerCase()).toContain(result);
  });

  it('lets another client list, watch and answer an approval that the application leaves open', async () => {
    model.enqueue(calculate(), textReply(['42']));
    const onError = jest.fn();
    const job = await client().startChat({ ...needsApproval, onApproval: () => undefined, onError });
    const other = client();
    const filter = { jobId: { eq: job.id }, kind: { eq: 'TOOL_APPROVAL' as const } };
    const statuses: string[] = [];
    for await (const request of other.interrupts.watch(filter)) {
      statuses.push(request.status);
      if (request.status !== 'OPEN') break;
      expect((await other.interrupts.list({ ...filter, status: { eq: 'OPEN' } })).nodes).toEqual([request]);
      expect(await other.interrupts.get(request.id)).toEqual(request);
      await expect(other.interrupts.resolve({ id: request.id, decision: 'APPROVE' })).rejects.toMatchObject({
        name: 'NightshiftError',
      });
      const { argumentsHash } = request.request as { argumentsHash: string };
      const answer = { id: request.id, decision: 'APPROVE' as const, argumentsHash };
      expect(await other.interrupts.resolve(answer)).toMatchObject({ status: 'RESOLVED', outcome: 'approved' });
      await expect(other.interrupts.resolve({ id: request.id, decision: 'DENY' })).rejects.toMatchObject({
        code: 'already_answered',
      });
    }
    expect(statuses).toEqual(['OPEN', 'RESOLVED']);
    expect(await job.text()).toBe('42');
    expect(onError).not.toHaveBeenCalled();
  });

  it('delivers a question to the application and its answer to the job', async () => {
    model.enqueue(callOf('c1', 'ask_person', { question: 'Which size?' }), textReply(['An M.']));
    const onQuestion = ({ request }: Interrupt) => ({
      action: 'SUBMIT' as const,
      data: (request as { prompt: string }).prompt === 'Which size?' ? 'M' : 'L',
    });
    const job = await client().startChat({ message: 'Order', serverTools: ['ask_person'], onQuestion });
    expect(await job.text()).toBe('An M.');
    expect(lastResult()).toContain('M');
  });
});

describe('NightshiftClient.serve for sub-jobs', () => {
  beforeAll(async () => {
    const nodes = { q: { type: 'approval', prompt: 'Well?' } };
    const { id } = await publish(api.api, member.principal, sketch(nodes, ['start -> q'], { name: 'asks' }));
    await api.api.app.get(WorkflowsService).offerAsTool(member.principal, id, true);
  });

  const calls = () => callOf('c', 'workflow.asks', { input: 'Hello' });
  const start = (onQuestion?: OnQuestion) => {
    model.enqueue(calls(), textReply(['So.']));
    return client().startChat({ message: 'Go', serverTools: ['workflow.asks'], onQuestion });
  };
  const asks = (jobId: string) => {
    const { interrupts } = client();
    return eventually('the sub-job asks', async () => {
      const { nodes } = await interrupts.list({ status: { eq: 'OPEN' } });
      return nodes.find(({ rootJobId }) => rootJobId === jobId);
    });
  };
  const yes = () =>
    jest.fn((request: Interrupt) => ({ action: 'APPROVE' as const, reason: `of ${request.rootJobId.slice(0, 1)}` }));

  it('delivers a question of a sub-job to the client that serves the parent job', async () => {
    const onQuestion = yes();
    const job = await start(onQuestion);
    expect(await job.text()).toBe('So.');
    expect(onQuestion).toHaveBeenCalledTimes(1);
    const [request] = onQuestion.mock.calls[0] ?? [];
    expect(request).toMatchObject({ kind: 'HUMAN_INPUT', rootJobId: job.id });
    expect(request?.jobId).not.toBe(job.id);
  });

  it('delivers a question that was open before the client began to serve', async () => {
    const job = await start();
    await asks(job.id);
    const onQuestion = yes();
    await client().job(job.id).serve({ onQuestion });
    expect(await job.text()).toBe('So.');
    expect(onQuestion).toHaveBeenCalledTimes(1);
  });

  it('leaves a question open when no client serves questions, and ends it with the parent job', async () => {
    const onError = jest.fn();
    const onApproval = jest.fn(() => 'deny' as const);
    model.enqueue(calls());
    const job = await client().startChat({ message: 'Go', serverTools: ['workflow.asks'], onApproval, onError });
    const served = client().job(job.id).serve({ onApproval, onError });
    await asks(job.id);
    await job.cancel();
    expect(await job.result()).toMatchObject({ status: 'CANCELLED' });
    await served;
    expect([onApproval.mock.calls, onError.mock.calls]).toEqual([[], []]);
  });
});
