import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { scopeOf } from '#auth';
import { JobStopper } from '#jobs';
import { defineTool, ToolRegistry } from '#tools';

import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: ApprovalStage;

beforeAll(async () => {
  stage = await openApprovalStage();
  await stage.policy({ rules: [{ match: '*', action: 'require_approval' }] });
});
afterEach(() => {
  stage.model.assertDone();
});
afterAll(async () => {
  await stage.close();
});

/** A job whose call to this tool, `{"to":"ada"}`, waits for approval. */
const asking = async (name: string) => {
  stage.model.enqueue(toolCallReply([{ id: 'call_a', name, arguments: '{"to":"ada"}' }]));
  const { jobId } = await stage.ask([name]);
  const [interrupt] = await stage.waits(jobId);
  if (interrupt === undefined) throw new Error('nothing is asked');
  const { argumentsHash } = interrupt.request;
  const decide = (args: object) =>
    stage.decide(stage.people.member, interrupt, { decision: 'approve', argumentsHash, arguments: args });
  const edit = async (args: object) => {
    stage.model.enqueue(textReply(['Done.']));
    await decide(args);
    return stage.ended(jobId);
  };
  return { jobId, decide, edit };
};

/** The events of a job's call: status, arguments, and the proposed arguments where they differ. */
const callEventsOf = async (jobId: string) => {
  const rows = await stage.rows<{ body: { internalStatus: string; call: { args: string; proposedArgs?: string } } }>(
    `SELECT body FROM job_event WHERE job_id = $1 AND type IN ('tool-call', 'tool-call-updated') ORDER BY seq`,
    [jobId],
  );
  return rows.map(({ body: { internalStatus, call } }) => [internalStatus, call.args, call.proposedArgs ?? null]);
};

describe('edited tool call', () => {
  it('shows viewers the executed and the proposed arguments', async () => {
    const { jobId, edit } = await asking('send');
    const { calls } = await edit({ to: 'bob' });
    expect(stage.ran).toEqual([['send', { to: 'bob' }]]);
    expect(calls).toMatchObject([{ arguments: '{"to":"ada"}', approvedArguments: '{"to":"bob"}' }]);
    expect(await callEventsOf(jobId)).toEqual([
      ['awaiting_approval', '{"to":"ada"}', null],
      ['running', '{"to":"bob"}', '{"to":"ada"}'],
      ['completed', '{"to":"bob"}', '{"to":"ada"}'],
    ]);
  });

  it('keeps its arguments when its job is cancelled before it runs', async () => {
    const { jobId } = await asking('send');
    const sql = `UPDATE tool_call SET approved_arguments = '{"to":"bob"}' WHERE job_id = $1`;
    await stage.rows(sql, [jobId]);
    await stage.engine.app.get(JobStopper).stop(scopeOf(stage.people.member), jobId);
    await stage.ended(jobId);
    expect((await callEventsOf(jobId)).at(-1)).toEqual(['cancelled', '{"to":"bob"}', '{"to":"ada"}']);
  });

  it('omits sensitive fields from the receipt for the model', async () => {
    const input = { type: 'object', properties: { to: { type: 'string' }, pin: { type: 'string' } } };
    const execute = () => Promise.resolve('paid');
    const tool = defineTool({ name: 'pay', description: 'Pays.', input, sensitiveFields: ['pin'], execute });
    stage.engine.app.get(ToolRegistry).register(tool);
    const { edit } = await asking('pay');
    await edit({ to: 'bob', pin: '4321' });
    const messages = stage.model.requests.at(-1)?.json['messages'] as { readonly content: string }[]; // as we sent them
    expect(messages.at(-1)?.content).toBe(
      'Approval receipts: call_a approved by a person with edited arguments {"pin":"***","to":"bob"}.',
    );
  });
});

describe('tool arguments that JSON.parse would change', () => {
  it.each([
    ['{"to":12345678901234567890}', 'hold the number 12345678901234567890, which cannot be passed on exactly'],
    ['{"to":1e400}', 'hold the number 1e400'],
    ['{"to":-0}', 'hold the number -0'],
    ['{"to":"ada","to":"bob"}', 'name the member "to" twice'],
  ])('%s lead to rejection with a tool result for the model, without an approval request', async (args, problem) => {
    stage.ran.splice(0);
    stage.model.enqueue(toolCallReply([{ id: 'call_a', name: 'send', arguments: args }]), textReply(['Understood.']));
    const { jobId } = await stage.ask(['send']);
    await stage.ended(jobId);
    const messages = stage.model.requests.at(-1)?.json['messages'] as { readonly content: string }[]; // as we sent them
    expect(messages.at(-1)?.content).toContain(problem);
    expect(stage.ran).toEqual([]);
    expect(await stage.rows('SELECT 1 FROM interrupt WHERE job_id = $1', [jobId])).toEqual([]);
  });

  it('fail as an edit, and the request stays open', async () => {
    stage.ran.splice(0);
    const { jobId, decide } = await asking('send');
    const refused = decide({ to: Number('12345678901234567890') });
    await expect(refused).rejects.toMatchObject({ code: 'invalid_arguments' });
    stage.model.enqueue(textReply(['Done.']));
    await decide({ to: 'bob' });
    await stage.ended(jobId);
    expect(stage.ran).toEqual([['send', { to: 'bob' }]]);
  });
});
