import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import type { Role } from '#auth';
import { ToolRegistry } from '#tools';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { chatBody, jobIdOf, restJobs } from '../harness/rest-jobs.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let database: TestDatabase;
let model: ScriptedModel;
let test: TestApi;
let here: Record<Role, TestMember>;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  test = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
  here = await test.people.workspaceOf('here');
});
afterEach(() => {
  model.assertDone();
});
afterAll(async () => {
  await test.close();
  await model.close();
  await database.close();
});

describe('REST job with ask_person', () => {
  it('waits, and continues with the answer from the inbox', async () => {
    const call = { id: 'q', name: 'ask_person', arguments: '{"question":"Which size?"}' };
    model.enqueue(toolCallReply([call]), textReply(['Ordered.']));
    const jobs = restJobs(test, here.member.key);
    const tools = [test.api.app.get(ToolRegistry).definitionOf('ask_person')];
    const jobId = jobIdOf(await jobs.start(chatBody({ tools })));
    const stream = await jobs.watch(jobId);
    const opened = await stream.until(({ event, data }) => {
      const open = data['interrupts'];
      return event === 'interrupt-opened' || (event === 'snapshot' && Array.isArray(open) && open.length > 0);
    });
    const [shown] = opened.event === 'snapshot' ? (opened.data['interrupts'] as object[]) : [opened.data];
    expect(shown).toMatchObject({ kind: 'human_input', callId: 'q', title: 'Which size?', request: { mode: 'input' } });
    // A later viewer receives the same.
    const late = await jobs.watch(jobId);
    const snapshot = await late.until(({ event }) => event === 'snapshot');
    const { interruptId } = shown as { interruptId: string };
    expect(snapshot.data['interrupts']).toMatchObject([{ interruptId, kind: 'human_input', callId: 'q' }]);
    late.leave();
    const inbox = await test.call('GET', `/api/interrupts?status=open&jobId=${jobId}`, { key: here.member.key });
    expect(inbox.body).toMatchObject({ interrupts: [{ id: interruptId }], nextCursor: null });
    const answer = { key: here.member.key, body: { action: 'submit', data: 'M' } };
    expect((await test.call('POST', `/api/interrupts/${interruptId}/decision`, answer)).status).toBe(200);
    const resolved = await stream.until(({ event }) => event === 'interrupt-resolved');
    expect(resolved.data).toMatchObject({ interruptId, outcome: 'submit', decidedBy: here.member.principal.id });
    expect(await jobs.ended(jobId)).toMatchObject({ status: 'complete', content: 'Ordered.' });
    const messages = model.requests.at(-1)?.json['messages'] as readonly object[]; // chat completions have them
    expect(messages.at(-1)).toEqual({ role: 'tool', tool_call_id: 'q', content: 'M' });
    stream.leave();
  });
});
