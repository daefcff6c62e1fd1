import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import type { Role } from '#auth';
import { newId } from '#platform';

import { announceDue } from '../harness/announce-due.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ask } from '../harness/graphql.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { scriptedCall } from '../harness/rest-client.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { type Reply, textReply, toolCallReply } from '../harness/scripted-reply.js';

const CLAIM = `mutation($input: ClaimClientToolInput!) { claimClientTool(input: $input) {
  claim { claimToken callId name arguments definition threadId messageId expiresAt } callStatus userErrors { code message } } }`;
const VALIDATE = `mutation($input: ValidateClientToolInput!) { validateClientTool(input: $input) {
  valid expiresAt callStatus userErrors { code message } } }`;
const SUBMIT = `mutation($input: SubmitClientToolResultInput!) { submitClientToolResult(input: $input) {
  accepted callStatus userErrors { code message } } }`;
const JOB = `query($id: ID!) { job(id: $id) {
  status finishedAt error { code } toolCalls { callId status result error { phase message } } } }`;

let database: TestDatabase;
let model: ScriptedModel;
let test: TestApi;
let people: Record<Role, TestMember>;
let foreign: TestMember;
let me: GraphqlMember;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  test = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
  people = await test.people.workspaceOf('acme');
  foreign = (await test.people.workspaceOf('other')).owner;
  me = graphqlMember(test, people.member.key);
});
afterEach(() => {
  model.assertDone();
});
afterAll(async () => {
  await test.close();
  await model.close();
  await database.close();
});

type Fields = Readonly<Record<string, unknown>>;

const openFile = {
  name: 'open_file',
  description: 'Opens a file',
  parameters: { type: 'object', properties: { path: { type: 'string' } } },
};

async function call(mutation: string, input: object): Promise<Fields> {
  const [payload] = Object.values(await me.query(mutation, { input }));
  return payload as Fields; // each of the documents above asks for one
}

async function job(id: string): Promise<Fields> {
  return (await me.query(JOB, { id }))['job'] as Fields; // it exists
}

/** A job whose model requests one client tool call and then sends the given reply. */
async function asking(input: object, ...replies: readonly Reply[]): Promise<string> {
  model.enqueue(toolCallReply([scriptedCall('c1')]), ...replies);
  const { jobId, userErrors } = await me.start({ message: 'Open it', ...input });
  expect(userErrors).toEqual([]);
  if (jobId === null) throw new Error('nothing was started');
  return jobId;
}

async function waiting(tool: object = {}, change: object = {}): Promise<string> {
  const jobId = await asking({ clientTools: [{ ...openFile, ...tool }], ...change });
  await eventually('the job waits', async () => ((await job(jobId))['status'] === 'WAITING' ? true : undefined));
  return jobId;
}

describe('a GraphQL job with client tools', () => {
  it('offers the tool to the model, the call to the client, and the result to the model', async () => {
    const jobId = await waiting();
    const { parameters, name, description } = openFile;
    expect(model.requests.at(-1)?.json['tools']).toEqual([
      { type: 'function', function: { name, description, parameters } },
    ]);
    const { claim } = await call(CLAIM, { jobId, callId: 'c1', deviceId: 'laptop' });
    expect(claim).toMatchObject({
      callId: 'c1',
      name: 'open_file',
      arguments: '{"path":"/c1"}',
      definition: { function: { name: 'open_file' } },
    });
    const { claimToken } = claim as { claimToken: string };
    expect(await call(CLAIM, { jobId, callId: 'c1', deviceId: 'phone' })).toEqual({
      claim: null,
      callStatus: 'AWAITING_CLIENT',
      userErrors: [{ code: 'already_claimed', message: 'Tool call already claimed' }],
    });
    expect(await call(VALIDATE, { jobId, callId: 'c1', claimToken })).toMatchObject({ valid: true, userErrors: [] });
    model.enqueue(textReply(['Done.']));
    const submitted = { accepted: true, callStatus: null, userErrors: [] };
    expect(await call(SUBMIT, { jobId, callId: 'c1', claimToken, result: 'hello' })).toEqual(submitted);
    expect(await call(SUBMIT, { jobId, callId: 'c1', claimToken, result: 'hello' })).toEqual(submitted);
    expect(await call(SUBMIT, { jobId, callId: 'c1', claimToken, result: 'other' })).toEqual({
      accepted: null,
      callStatus: 'COMPLETED',
      userErrors: [{ code: 'not_pending', message: 'Tool call is no longer pending' }],
    });
    await me.finished(jobId);
    expect(await job(jobId)).toMatchObject({
      status: 'COMPLETED',
      toolCalls: [{ callId: 'c1', status: 'COMPLETED', result: 'hello' }],
    });
    expect(model.requests.at(-1)?.json['messages']).toContainEqual({
      role: 'tool',
      tool_call_id: 'c1',
      content: 'hello',
    });
  });

  it('offers a call only to the device of the request', async () => {
    const jobId = await waiting({}, { clientDeviceId: 'laptop' });
    const refused = await call(CLAIM, { jobId, callId: 'c1', deviceId: 'phone' });
    expect(refused['userErrors']).toMatchObject([{ code: 'other_device' }]);
    await me.query('mutation($id: ID!) { cancelJob(input: {jobId: $id}) { state } }', { id: jobId });
  });

  it.each([
    { onTimeout: 'SKIP', status: 'SKIPPED', message: 'Tool "open_file" is client-only.', ended: 'COMPLETED' },
    { onTimeout: 'FAIL', status: 'TIMED_OUT', message: 'No client ran tool "open_file" in time.', ended: 'FAILED' },
  ])('ends a call as declared when no client serves it: $onTimeout', async ({ onTimeout, status, message, ended }) => {
    const clientTools = [{ ...openFile, timeoutMs: 1_000, onTimeout }];
    const jobId = await asking({ clientTools }, ...(ended === 'COMPLETED' ? [textReply(['Never mind.'])] : []));
    await me.finished(jobId);
    expect(await job(jobId)).toMatchObject({
      status: ended,
      error: ended === 'FAILED' ? { code: 'client_tool_timeout' } : null,
      toolCalls: [{ status, error: { phase: 'timeout', message } }],
    });
  });

  it('waits for a client beyond the tool timeout by default', async () => {
    const jobId = await waiting({ timeoutMs: 1_000 });
    const { rows } = await database.postgres.workerPool.query<{ hours: number }>(
      `SELECT (extract(epoch FROM expires_at - created_at) / 3600)::float8 AS hours FROM interrupt WHERE job_id = $1`,
      [jobId],
    );
    expect(rows[0]?.hours).toBeCloseTo(24, 1);
    await me.query('mutation($id: ID!) { cancelJob(input: {jobId: $id}) { state } }', { id: jobId });
  });

  it.each([
    ['a wrong name', { clientTools: [{ name: 'open file' }] }, 'clientTools'],
    ['a schema that cannot be used', { clientTools: [{ name: 'a', parameters: { type: 'string' } }] }, 'clientTools'],
    ['a name of the server too', { clientTools: [{ name: 'calculate' }], tools: ['calculate'] }, 'clientTools'],
    ['an empty device', { clientTools: [openFile], clientDeviceId: '' }, 'clientDeviceId'],
  ])('does not start when the declaration has %s', async (_, change, field) => {
    const { userErrors } = await me.start({ message: 'hi', ...change });
    expect(userErrors).toMatchObject([{ code: 'bad_request', field }]);
  });
});

describe('client tool call of a lost client', () => {
  /** Serves the call as far as `validate`, and lets the claim lie in the past. */
  async function lose(jobId: string): Promise<void> {
    const { claim } = await call(CLAIM, { jobId, callId: 'c1', deviceId: 'laptop' });
    const { claimToken } = claim as { claimToken: string };
    await call(VALIDATE, { jobId, callId: 'c1', claimToken });
    await database.postgres.workerPool.query(
      `UPDATE interrupt SET claim_until = clock_timestamp() WHERE job_id = $1 AND status = 'open'`,
      [jobId],
    );
    await announceDue(database);
  }
  const serve = async (jobId: string) => {
    const claim = await eventually('the call can be claimed', async () => {
      const claimed = await call(CLAIM, { jobId, callId: 'c1', deviceId: 'phone' });
      return (claimed['claim'] as { claimToken: string } | null) ?? undefined;
    });
    await call(SUBMIT, { jobId, callId: 'c1', claimToken: claim.claimToken, result: 'hello' });
  };

  it('moves a pure call to another client', async () => {
    const jobId = await waiting({ effect: 'PURE' });
    await lose(jobId);
    model.enqueue(textReply(['Done.']));
    await serve(jobId);
    await me.finished(jobId);
    expect(await job(jobId)).toMatchObject({ status: 'COMPLETED', toolCalls: [{ result: 'hello' }] });
  });

  it.each([
    ['HAPPENED', { result: 'it was opened' }, { status: 'COMPLETED', result: 'it was opened' }],
    ['DID_NOT_HAPPEN', {}, { status: 'ERROR' }],
    ['REPORT', {}, { status: 'INTERRUPTED' }],
    ['REPEAT', {}, { status: 'COMPLETED', result: 'hello' }],
  ])('asks a person about a call that must not be repeated: %s', async (decision, more, expected) => {
    const jobId = await waiting();
    await lose(jobId);
    const id = await eventually('a person is asked', async () => {
      const { interrupts } = await me.query(
        `query($id: ID!) { interrupts(first: 1, filter: { jobId: { eq: $id }, kind: { eq: UNKNOWN_OUTCOME } }) { nodes { id } } }`,
        { id: jobId },
      );
      return (interrupts as { nodes: { id: string }[] }).nodes[0]?.id;
    });
    model.enqueue(textReply(['I see.']));
    const input = { id, decision, ...more };
    const answered = await me.query(
      'mutation($input: ResolveInterruptInput!) { resolveInterrupt(input: $input) { userErrors { message } } }',
      { input },
    );
    expect(answered).toEqual({ resolveInterrupt: { userErrors: [] } });
    if (decision === 'REPEAT') await serve(jobId);
    await me.finished(jobId);
    expect(await job(jobId)).toMatchObject({ status: 'COMPLETED', toolCalls: [expected] });
  });
});

describe('access to client tool calls', () => {
  it('allows only the requester of the job', async () => {
    const jobId = await waiting();
    const inputs = [
      [CLAIM, { jobId, callId: 'c1', deviceId: 'd' }],
      [VALIDATE, { jobId, callId: 'c1', claimToken: 't' }],
      [SUBMIT, { jobId, callId: 'c1', claimToken: 't', result: '' }],
    ] as const;
    for (const [mutation, input] of inputs) {
      for (const { key } of [people.viewer, people.admin, people.owner]) {
        const { errors } = await ask(test, mutation, { key, variables: { input } });
        expect(errors).toMatchObject([{ message: 'Forbidden', extensions: { code: 'FORBIDDEN' } }]);
      }
      const responseTo = async (key: string, id: string) => {
        const { data } = await ask(test, mutation, { key, variables: { input: { ...input, jobId: id } } });
        return data;
      };
      const absent = await responseTo(people.member.key, newId());
      expect(JSON.stringify(absent)).toContain('Job not found or unauthorized');
      expect(await responseTo(foreign.key, jobId)).toEqual(absent);
    }
    await me.query('mutation($id: ID!) { cancelJob(input: {jobId: $id}) { state } }', { id: jobId });
  });
});
