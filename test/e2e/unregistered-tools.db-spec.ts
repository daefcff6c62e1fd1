import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { ToolRegistry } from '#tools';

import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: ApprovalStage;
let registry: ToolRegistry;

beforeAll(async () => {
  stage = await openApprovalStage();
  registry = stage.engine.app.get(ToolRegistry);
  await stage.policy({ rules: [{ match: '*', action: 'require_approval' }] });
});
afterAll(async () => {
  await stage.close();
});

const offered = () => {
  const { tools = [] } = (stage.model.requests.at(-1)?.json ?? {}) as { tools?: { function: { name: string } }[] };
  return tools.map(({ function: { name } }) => name);
};
const call = (name: string) => toolCallReply([{ id: `call_${name}`, name, arguments: '{"to":"ada"}' }]);

describe('ToolRegistry.unregister', () => {
  it('ends a call that was created before as error with code tool_unavailable, and offers the tool no more', async () => {
    stage.model.enqueue(call('send'), textReply(['It is gone.']));
    const { jobId } = await stage.ask(['send', 'look_up']);
    const [interrupt] = await stage.waits(jobId);
    expect(offered()).toEqual(['send', 'look_up']);
    registry.unregister('send');
    if (interrupt === undefined) throw new Error('nothing is asked');
    const { argumentsHash } = interrupt.request;
    await stage.decide(stage.people.member, interrupt, { decision: 'approve', argumentsHash });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', calls: [{ name: 'send', status: 'error' }] });
    const stored = await stage.rows('SELECT status, error FROM tool_call WHERE job_id = $1', [jobId]);
    expect(stored).toMatchObject([{ status: 'error', error: { code: 'tool_unavailable' } }]);
    expect(stage.ran).toEqual([]);
    expect(offered()).toEqual(['look_up']);
  });
});
