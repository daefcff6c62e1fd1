import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { ToolCatalog, ToolRegistry } from '#tools';

import { problemOfToolName } from '../../libs/tools/src/plugins/server-tools.js';
import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: ApprovalStage;
let registry: ToolRegistry;

beforeAll(async () => {
  stage = await openApprovalStage({ FEATURE_SUB_JOBS: 'true' });
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

  it('ends a call of a tool whose definition was in the request in the same way, also if the request has a client', async () => {
    const parameters = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] };
    const definition = { type: 'function', function: { name: 'look_up', description: 'look_up', parameters } } as const;
    for (const client of [undefined, { deviceId: null, tools: {} }]) {
      stage.model.enqueue(call('look_up'), textReply(['It is gone.']));
      const { jobId } = await stage.ask([], { tools: [definition], ...(client === undefined ? {} : { client }) });
      const [interrupt] = await stage.waits(jobId);
      const tool = registry.find('look_up');
      if (interrupt === undefined || tool === undefined) throw new Error('nothing is asked');
      registry.unregister('look_up');
      const { argumentsHash } = interrupt.request;
      await stage.decide(stage.people.member, interrupt, { decision: 'approve', argumentsHash });
      expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
      const stored = await stage.rows('SELECT status, error FROM tool_call WHERE job_id = $1', [jobId]);
      expect(stored).toMatchObject([{ status: 'error', error: { code: 'tool_unavailable' } }]);
      registry.register(tool);
    }
    expect(stage.ran).toEqual([]);
  });
});

describe('names of tools of the server', () => {
  it('cannot be names of tools of plugins', async () => {
    const { workspaceId } = stage.people.owner;
    const ofWorkspace = (await stage.engine.app.get(ToolCatalog).of(workspaceId)).list();
    const tools = [...registry.all(), ...ofWorkspace].map(({ name }) => name); // also disabled ones
    const own = tools.filter((name) => !['send', 'look_up'].includes(name));
    expect(own.filter((name) => problemOfToolName(name) === null)).toEqual([]);
    expect(problemOfToolName('workflow.invoice')).toContain('belong to workflows');
  });
});
