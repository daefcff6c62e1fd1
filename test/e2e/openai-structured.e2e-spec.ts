import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';

import { ApprovalPoliciesService } from '#approvals';

import type { TestMember } from '../harness/api.js';
import { eventually } from '../harness/eventually.js';
import { ask } from '../harness/graphql.js';
import { completionsClient } from '../harness/openai-client.js';
import { type OpenAiStage, openAiStage, plain } from '../harness/openai-stage.js';
import { createGate, textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: OpenAiStage;
let client: OpenAI;

beforeAll(async () => {
  stage = await openAiStage({ STARTS_PER_MINUTE: '1000' });
  client = new OpenAI({ baseURL: `${stage.test.url}/v1`, apiKey: stage.owner.key, maxRetries: 0 });
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

const City = z.object({ city: z.string(), degrees: z.number().nullable() });
const question = [{ role: 'user' as const, content: 'Rome?' }];
const answer = '{"city":"Rome","degrees":30}';

describe('structured output of the OpenAI client', () => {
  it('parses with the zod helper for response formats', async () => {
    stage.model.enqueue(textReply([answer]));
    const format = { response_format: zodResponseFormat(City, 'city') };
    const { choices } = await client.chat.completions.parse({ model: 'helper', messages: question, ...format });
    expect(choices[0]?.message.parsed).toEqual({ city: 'Rome', degrees: 30 });
  });

  it('from a forced function starts any number of runs that are never continued, with and without a session', async () => {
    const tools = [zodFunction({ name: 'give_city', parameters: City })];
    const tool_choice = { type: 'function' as const, function: { name: 'give_city' } };
    for (const headers of [{}, { 'X-Session-Id': 'forced' }, { 'X-OpenWebUI-Chat-Id': 'forced' }])
      for (let n = 0; n < 8; n++) {
        stage.model.enqueue(toolCallReply([{ id: 'call_0', name: 'give_city', arguments: answer }]));
        const body = { model: 'helper', messages: question, tools, tool_choice };
        const { choices } = await client.chat.completions.parse(body, { headers });
        expect(choices[0]?.message.tool_calls).toMatchObject([
          { function: { parsed_arguments: { city: 'Rome', degrees: 30 } } },
        ]);
      }
    stage.model.enqueue(textReply(['Warm.']));
    const plain = { model: 'helper', messages: question };
    const { choices } = await client.chat.completions.create(plain, { headers: { 'X-Session-Id': 'forced' } });
    expect(choices[0]?.message.content).toBe('Warm.');
  });
});

describe('MAX_UNFINISHED_JOBS_PER_USER', () => {
  const bound = 5;
  let small: OpenAiStage;

  beforeAll(async () => {
    small = await openAiStage({ STARTS_PER_MINUTE: '1000', MAX_UNFINISHED_JOBS_PER_USER: String(bound) });
  });
  afterEach(() => small.assertQuiet());
  afterAll(() => small.close());

  const forced = {
    model: 'helper',
    messages: question,
    tools: [zodFunction({ name: 'give_city', parameters: City })],
    tool_choice: { type: 'function' as const, function: { name: 'give_city' } },
  };
  const call = toolCallReply([{ id: 'call_0', name: 'give_city', arguments: answer }]);
  const startChat = `mutation { startChat(input: { message: "hi", model: "helper" }) {
    jobId userErrors { code } } }`;
  const clientOf = ({ key }: TestMember) => new OpenAI({ baseURL: `${small.test.url}/v1`, apiKey: key, maxRetries: 0 });
  /** Gives the id of the job, which stays paused. */
  const completeForced = async (user: OpenAI): Promise<string> => {
    small.model.enqueue(call);
    const { data, response } = await user.chat.completions.create(forced).withResponse();
    expect(data.choices[0]?.finish_reason).toBe('tool_calls');
    return response.headers.get('x-job-id') ?? '';
  };
  /** Starts a run that waits for an approval, and disconnects. */
  const awaitApproval = async (owner: TestMember): Promise<string> => {
    small.model.enqueue(toolCallReply([{ id: 'sum', name: 'add_numbers', arguments: '{"a":1,"b":2}' }]));
    const open = completionsClient(small.test.url, owner.key).open(plain('add', { stream: true }));
    await open.until(': waiting approval ');
    const { headers } = await open.begun;
    open.leave();
    return String(headers['x-job-id']);
  };
  const tenant = async (name: string) => {
    const { owner } = await small.tenant(name);
    const policy = { rules: [{ match: 'add_numbers', action: 'require_approval' }] };
    await small.test.api.app.get(ApprovalPoliciesService).save(owner.principal, { policy, expectedVersion: null });
    return owner;
  };
  const statesOf = async ({ principal }: TestMember) => {
    const { rows } = await small.database.postgres.withWorkspaceSql(principal.workspaceId, (sql) =>
      sql.query<{ id: string; state: string }>(
        `SELECT id, CASE WHEN finished_at IS NULL THEN status ELSE status || ' ' || reason END AS state FROM job`,
      ),
    );
    return new Map(rows.map(({ id, state }) => [id, state]));
  };

  it('completes 20 forced function calls that are never continued; the oldest runs expire, an approval stays', async () => {
    const owner = await tenant('forced');
    const approval = await awaitApproval(owner);
    const user = clientOf(owner);
    const runs: string[] = [];
    for (let n = 0; n < 20; n++) runs.push(await completeForced(user));
    const kept = bound - 1;
    const states = await eventually('the oldest runs have ended', async () => {
      const now = await statesOf(owner);
      return runs.slice(0, -kept).every((id) => now.get(id) === 'failed client_tool_expired') ? now : undefined;
    });
    expect(runs.slice(-kept).map((id) => states.get(id))).toEqual(runs.slice(-kept).map(() => 'waiting'));
    expect(states.get(approval)).toBe('waiting');
    // The same user starts jobs by other APIs, too.
    small.model.enqueue(textReply(['Hello.']));
    const { data, errors } = await ask(small.test, startChat, { key: owner.key });
    expect([errors, data]).toMatchObject([[], { startChat: { userErrors: [] } }]);
    const { jobId } = data?.['startChat'] as { jobId: string };
    await eventually('it has completed', async () =>
      (await statesOf(owner)).get(jobId) === 'completed stop' ? true : undefined,
    );
  });

  it('gets the limit as an error on every API when all stored jobs wait for approvals', async () => {
    const owner = await tenant('approvals');
    const waiting = [];
    for (let n = 0; n < bound; n++) waiting.push(await awaitApproval(owner));
    const refused = {
      code: 'job_limit_reached',
      status: 503,
      message: expect.stringMatching(/Too many unfinished jobs: .*MAX_UNFINISHED_JOBS_PER_USER/),
    };
    await expect(clientOf(owner).chat.completions.create(forced)).rejects.toMatchObject(refused);
    const limit = { limit: 'MAX_UNFINISHED_JOBS_PER_USER', limitValue: bound, raisedBy: 'operator' };
    const { errors } = await ask(small.test, startChat, { key: owner.key });
    expect(errors).toMatchObject([{ extensions: { reason: 'job_limit_reached', ...limit } }]);
    const states = await statesOf(owner);
    expect([...states]).toEqual(expect.arrayContaining(waiting.map((id) => [id, 'waiting'])));
    expect(states.size).toBe(bound);
  });

  it('completes starts that are queued behind a running job and the runs that expire for them', async () => {
    const owner = await tenant('queued');
    const { workspaceId } = owner.principal;
    await small.database.postgres.withWorkspaceSql(workspaceId, (sql) =>
      sql.query('UPDATE workspace SET max_jobs = 1 WHERE id = $1', [workspaceId]),
    );
    const user = clientOf(owner);
    const runs: string[] = [];
    for (let n = 0; n < bound - 1; n++) runs.push(await completeForced(user));
    const gate = createGate();
    small.model.enqueue({ body: [textChunk('Wait.'), gate], end: 'hang' });
    const running = completionsClient(small.test.url, owner.key).open(plain('wait', { stream: true }));
    const { headers } = await running.begun;
    const started = runs.map(() => completeForced(user));
    await eventually('each start has taken the place of a run', async () => {
      const now = await statesOf(owner);
      return runs.every((id) => now.get(id) === 'queued') ? true : undefined;
    });
    await small.test.call('POST', `/api/jobs/${String(headers['x-job-id'])}/abort`, { key: owner.key });
    const next = await Promise.all(started);
    const states = await eventually('the runs have expired', async () => {
      const now = await statesOf(owner);
      return runs.every((id) => now.get(id) === 'failed client_tool_expired') ? now : undefined;
    });
    expect(next.map((id) => states.get(id))).toEqual(next.map(() => 'waiting'));
    running.leave();
    gate.open();
  });
});
