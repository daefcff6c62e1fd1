import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { TestMember } from '../harness/api.js';
import { errorOf, type ExecuteStage, openExecuteStage, withKey } from '../harness/execute-stage.js';
import { scriptedCall, waitingFor } from '../harness/rest-client.js';
import { restJobs } from '../harness/rest-jobs.js';

let stage: ExecuteStage;

beforeAll(async () => {
  stage = await openExecuteStage();
});
beforeEach(async () => {
  await stage.reset();
});
afterAll(async () => {
  await stage.close();
});

describe('POST /v1/tools/execute for a pending client call', () => {
  /** Gives its id. */
  async function pending(id: string, who: TestMember = stage.people.owner): Promise<string> {
    const jobs = restJobs(stage.test, who.key);
    await waitingFor({ jobs, model: stage.model }, [id], { _toolRuntime: { open_file: 'client' } });
    return id;
  }

  const openFile = (id: string, change: object = {}) => ({
    ...{ agent: 'clerk', tool_name: 'open_file', arguments: scriptedCall(id).arguments, tool_call_id: id },
    ...change,
  });

  it('runs the call once on the server while it stays pending', async () => {
    const id = await pending('call_once');
    const reply = await stage.execute(openFile(id), withKey('once'));
    expect([reply.status, reply.body]).toEqual([200, { tool_call_id: id, result: 'file /call_once' }]);
    expect((await stage.execute(openFile(id), withKey('once'))).body).toEqual(reply.body);
    for (const again of [await stage.execute(openFile(id)), await stage.execute(openFile(id), withKey('another'))])
      expect([again.status, errorOf(again)]).toMatchObject([
        409,
        { message: 'Tool call was already executed', param: 'tool_call_id' },
      ]);
    expect(stage.called).toHaveLength(1);
  });

  it('runs the call once for many concurrent requests', async () => {
    const id = await pending('call_race');
    const replies = await Promise.all(Array.from({ length: 8 }, () => stage.execute(openFile(id))));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409, 409, 409, 409, 409]);
    expect(stage.called).toHaveLength(1);
  });

  it('rejects another call', async () => {
    const id = await pending('call_same');
    for (const change of [{ arguments: { path: '/other' } }, { tool_name: 'echo', arguments: { text: 'hi' } }]) {
      const reply = await stage.execute(openFile(id, change));
      expect([reply.status, errorOf(reply)]).toMatchObject([
        400,
        { message: 'Tool call does not match the pending call', param: 'tool_call_id' },
      ]);
    }
    expect(stage.called).toEqual([]);
  });

  it('rejects callers other than the requester', async () => {
    const id = await pending('call_mine');
    for (const { key } of [stage.people.admin, stage.people.stranger]) {
      const reply = await stage.execute(openFile(id), { key });
      expect(errorOf(reply)).toMatchObject({ message: "Tool call 'call_mine' not found", param: 'tool_call_id' });
    }
    expect(stage.called).toEqual([]);
  });
});
