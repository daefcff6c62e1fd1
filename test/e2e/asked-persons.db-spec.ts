import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { parseApprovalPolicy } from '#approvals';
import { defineTool, ToolRegistry } from '#tools';

import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: ApprovalStage;

beforeAll(async () => {
  stage = await openApprovalStage();
});
afterEach(() => {
  stage.model.assertDone();
});
afterAll(async () => {
  await stage.close();
});

const send = (to: string, id = 'call_a') => ({ id, name: 'send', arguments: JSON.stringify({ to }) });
const lastMessages = () => stage.model.requests.at(-1)?.json['messages'] as { role: string; content: string }[];

describe('approval rules of a start request', () => {
  it('tighten the policy of the workspace and cannot relax it', async () => {
    await stage.policy({ rules: [] });
    const strict = parseApprovalPolicy({ rules: [{ match: 'send', action: 'require_approval' }] });
    stage.model.enqueue(toolCallReply([send('ada')]), textReply(['Done.']));
    const { jobId } = await stage.ask(['send'], { toolApproval: strict });
    const [interrupt] = await stage.waits(jobId);
    await stage.policy({ rules: [{ match: 'send', action: 'block' }] });
    if (interrupt !== undefined) await stage.decide(stage.people.member, interrupt, { decision: 'deny' });
    await stage.ended(jobId);
    stage.model.enqueue(toolCallReply([send('ada')]), textReply(['Blocked.']));
    const lax = await stage.ask(['send'], { toolApproval: parseApprovalPolicy({ default: 'auto_approve' }) });
    expect(await stage.ended(lax.jobId)).toMatchObject({ calls: [{ status: 'denied' }] });
    expect(stage.ran).toEqual([]);
  });
});

describe('ask_person', () => {
  it('opens a form, rejects invalid input and gives the model the submitted values', async () => {
    const fields = { type: 'object', properties: { size: { enum: ['s', 'm'] } }, required: ['size'] };
    const args = JSON.stringify({ question: 'Which size?', fields });
    stage.model.enqueue(toolCallReply([{ id: 'q', name: 'ask_person', arguments: args }]), textReply(['Ordered.']));
    const { jobId } = await stage.ask(['ask_person']);
    const [interrupt] = await stage.waits(jobId);
    if (interrupt === undefined) throw new Error('nothing is asked');
    expect(interrupt).toMatchObject({ kind: 'human_input', title: 'Which size?', request: { inputSchema: fields } });
    const { member } = stage.people;
    await expect(stage.decide(member, interrupt, { action: 'submit', data: { size: 'xl' } })).rejects.toThrow();
    await stage.decide(member, interrupt, { action: 'submit', data: { size: 'm' } });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    expect(lastMessages().at(-1)).toEqual({ role: 'tool', tool_call_id: 'q', content: '{"size":"m"}' });
  });
});

describe('approval of an invalid call', () => {
  it('returns an error to the model and opens no request', async () => {
    await stage.policy({ rules: [{ match: 'send', action: 'require_approval' }] });
    stage.model.enqueue(toolCallReply([{ id: 'x', name: 'send', arguments: '{}' }]), textReply(['Sorry.']));
    const { jobId } = await stage.ask(['send']);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', calls: [{ status: 'error' }] });
    expect(lastMessages().at(-1)?.content).toBe('Missing required parameters: to');
    expect(await stage.rows('SELECT 1 FROM interrupt WHERE job_id = $1', [jobId])).toEqual([]);
  });
});

describe('tool result larger than a ledger row', () => {
  it('keeps the whole result, shows a preview and then offers the model a tool that reads its pages', async () => {
    const whole = `${'x'.repeat(300_000)}the end`;
    stage.engine.app
      .get(ToolRegistry)
      .register(
        defineTool({ name: 'dump', description: 'd', input: { type: 'object' }, effect: 'pure', execute: () => whole }),
      );
    const page = JSON.stringify({ call_id: 'd', offset: 300_000 });
    stage.model.enqueue(
      toolCallReply([{ id: 'd', name: 'dump', arguments: '{}' }]),
      toolCallReply([{ id: 'p', name: 'read_tool_output', arguments: page }]),
      textReply(['Read.']),
    );
    const { jobId } = await stage.ask(['dump']);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Read.' });
    const offered = stage.model.requests.slice(-3).map(({ json }) => json['tools'] as { function: { name: string } }[]);
    expect(offered.map((tools) => tools.map((tool) => tool.function.name))).toEqual([
      ['dump'],
      ['dump', 'read_tool_output'],
      ['dump', 'read_tool_output'],
    ]);
    expect(lastMessages().at(-1)?.content).toContain('the end');
    expect(await stage.rows('SELECT bytes FROM tool_output WHERE job_id = $1', [jobId])).toEqual([{ bytes: 300_007 }]);
  });
});

describe('failing job with open requests', () => {
  it('ends at once when one request fails it', async () => {
    await stage.policy({
      rules: [
        { match: 'send', action: 'require_approval', timeoutDays: 1e-8, expireAction: 'fail_job' },
        { match: 'look_up', action: 'require_approval', timeoutDays: 0 },
      ],
    });
    const looking = { id: 'l', name: 'look_up', arguments: '{"to":"x"}' };
    stage.model.enqueue(toolCallReply([send('ada'), looking]));
    const { jobId } = await stage.ask(['send', 'look_up']);
    await stage.waits(jobId);
    await stage.timers();
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'approval_expired' } });
    expect(await openOf(jobId)).toEqual([]);
  });

  it('closes its requests when it fails before it continues', async () => {
    await stage.policy({ rules: [{ match: '*', action: 'require_approval' }] });
    stage.model.enqueue(toolCallReply([send('ada', 'a'), send('bob', 'b')]));
    const { jobId } = await stage.ask(['send']);
    const [first] = await stage.waits(jobId);
    if (first === undefined) throw new Error('nothing is asked');
    await stage.rows(`UPDATE job SET input = '{"no":"chat"}' WHERE id = $1`, [jobId]);
    const answer = { decision: 'approve', argumentsHash: first.request['argumentsHash'] };
    await stage.decide(stage.people.member, first, answer);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed' });
    expect(await openOf(jobId)).toEqual([]);
  });
});

const openOf = (jobId: string) =>
  stage.rows(
    `SELECT status FROM interrupt WHERE job_id = $1 AND status = 'open'
      UNION ALL SELECT status FROM tool_call WHERE job_id = $1 AND status LIKE 'awaiting%'`,
    [jobId],
  );
