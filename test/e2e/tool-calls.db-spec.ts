import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { parseApprovalPolicy } from '#approvals';
import { scopeOf } from '#auth';
import { JobStopper } from '#jobs';
import { defineTool, ToolCatalog, type ToolEffect, ToolRegistry } from '#tools';

import { problemOfToolName } from '../../libs/tools/src/plugins/plugin-tools.js';
import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { eventually } from '../harness/eventually.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: ApprovalStage;
let registry: ToolRegistry;

beforeAll(async () => {
  stage = await openApprovalStage({ FEATURE_SUB_JOBS: 'true' });
  registry = stage.engine.app.get(ToolRegistry);
});
beforeEach(async () => {
  stage.ran.length = 0;
  await stage.policy({});
});
afterEach(() => {
  stage.model.assertDone();
});
afterAll(async () => {
  await stage.close();
});

const requireApprovals = () => stage.policy({ rules: [{ match: '*', action: 'require_approval' }] });
const send = (to: string, id = 'call_a') => ({ id, name: 'send', arguments: JSON.stringify({ to }) });
const lastMessages = () => stage.model.requests.at(-1)?.json['messages'] as { role: string; content: string }[]; // as we sent them

describe('names of tools of the server', () => {
  // Runs before other tests of this file register tools.
  it('cannot be names of tools of plugins', async () => {
    const { workspaceId } = stage.people.owner;
    const ofWorkspace = (await stage.engine.app.get(ToolCatalog).of(workspaceId)).list();
    const tools = [...registry.all(), ...ofWorkspace].map(({ name }) => name); // also disabled ones
    const own = tools.filter((name) => !['send', 'look_up'].includes(name));
    expect(own.filter((name) => problemOfToolName(name) === null)).toEqual([]);
    expect(problemOfToolName('workflow.invoice')).toContain('belong to workflows');
  });
});

describe('ToolRegistry.unregister', () => {
  let removed: (() => void)[] = [];
  beforeEach(requireApprovals);
  afterEach(() => {
    for (const restore of removed) restore();
    removed = [];
  });

  const remove = (name: string) => {
    const tool = registry.find(name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    registry.unregister(name);
    removed.push(() => {
      if (registry.find(name) === undefined) registry.register(tool);
    });
  };

  const offered = () => {
    const { tools = [] } = (stage.model.requests.at(-1)?.json ?? {}) as { tools?: { function: { name: string } }[] };
    return tools.map(({ function: { name } }) => name);
  };
  const call = (name: string) => toolCallReply([{ id: `call_${name}`, name, arguments: '{"to":"ada"}' }]);

  it('ends a call that was created before as error with code tool_unavailable, and offers the tool no more', async () => {
    stage.model.enqueue(call('send'), textReply(['It is gone.']));
    const { jobId } = await stage.ask(['send', 'look_up']);
    const [interrupt] = await stage.waits(jobId);
    expect(offered()).toEqual(['send', 'look_up']);
    remove('send');
    if (interrupt === undefined) throw new Error('nothing is asked');
    const { argumentsHash } = interrupt.request;
    await stage.decide(stage.people.member, interrupt, { decision: 'approve', argumentsHash });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', calls: [{ name: 'send', status: 'error' }] });
    const stored = await stage.rows('SELECT status, error FROM tool_call WHERE job_id = $1', [jobId]);
    expect(stored).toMatchObject([{ status: 'error', error: { code: 'tool_unavailable' } }]);
    expect(stage.ran).toEqual([]);
    expect(offered()).toEqual(['look_up']);
  });

  it.each([
    ['without a client', undefined],
    ['with a client', { deviceId: null, tools: {} }],
  ])('ends a call of a tool whose definition was in the request %s in the same way', async (_, client) => {
    const parameters = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] };
    const definition = { type: 'function', function: { name: 'look_up', description: 'look_up', parameters } } as const;
    stage.model.enqueue(call('look_up'), textReply(['It is gone.']));
    const { jobId } = await stage.ask([], { tools: [definition], ...(client === undefined ? {} : { client }) });
    const [interrupt] = await stage.waits(jobId);
    if (interrupt === undefined) throw new Error('nothing is asked');
    remove('look_up');
    const { argumentsHash } = interrupt.request;
    await stage.decide(stage.people.member, interrupt, { decision: 'approve', argumentsHash });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    const stored = await stage.rows('SELECT status, error FROM tool_call WHERE job_id = $1', [jobId]);
    expect(stored).toMatchObject([{ status: 'error', error: { code: 'tool_unavailable' } }]);
    expect(stage.ran).toEqual([]);
  });
});

describe('approval rules of a start request', () => {
  it('tighten the policy of the workspace and cannot relax it', async () => {
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
  it('opens a form, rejects invalid input and sends the submitted values to the model', async () => {
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
    const dump = { name: 'dump', description: 'd', input: { type: 'object' }, effect: 'pure' } as const;
    registry.register(defineTool({ ...dump, execute: () => whole }));
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
  const openOf = (jobId: string) =>
    stage.rows(
      `SELECT status FROM interrupt WHERE job_id = $1 AND status = 'open'
        UNION ALL SELECT status FROM tool_call WHERE job_id = $1 AND status LIKE 'awaiting%'`,
      [jobId],
    );

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
    await requireApprovals();
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
  beforeEach(requireApprovals);

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
    registry.register(tool);
    const { edit } = await asking('pay');
    await edit({ to: 'bob', pin: '4321' });
    expect(lastMessages().at(-1)?.content).toBe(
      'Approval receipts: call_a approved by a person with edited arguments {"pin":"***","to":"bob"}.',
    );
  });
});

describe('tool arguments that JSON.parse would change', () => {
  beforeEach(requireApprovals);

  it.each([
    ['{"to":12345678901234567890}', 'hold the number 12345678901234567890, which cannot be passed on exactly'],
    ['{"to":1e400}', 'hold the number 1e400'],
    ['{"to":-0}', 'hold the number -0'],
    ['{"to":"ada","to":"bob"}', 'name the member "to" twice'],
  ])('%s lead to rejection with a tool result for the model, without an approval request', async (args, problem) => {
    stage.model.enqueue(toolCallReply([{ id: 'call_a', name: 'send', arguments: args }]), textReply(['Understood.']));
    const { jobId } = await stage.ask(['send']);
    await stage.ended(jobId);
    expect(lastMessages().at(-1)?.content).toContain(problem);
    expect(stage.ran).toEqual([]);
    expect(await stage.rows('SELECT 1 FROM interrupt WHERE job_id = $1', [jobId])).toEqual([]);
  });

  it('fail as an edit, and the request stays open', async () => {
    const { jobId, decide } = await asking('send');
    const refused = decide({ to: Number('12345678901234567890') });
    await expect(refused).rejects.toMatchObject({ code: 'invalid_arguments' });
    stage.model.enqueue(textReply(['Done.']));
    await decide({ to: 'bob' });
    await stage.ended(jobId);
    expect(stage.ran).toEqual([['send', { to: 'bob' }]]);
  });
});

describe('cancelled job with running calls', () => {
  const begun: string[] = [];

  beforeAll(() => {
    for (const effect of ['pure', 'idempotent', 'once'] as const) registry.register(slow(effect));
  });
  beforeEach(async () => {
    begun.length = 0;
    await stage.policy({ rules: [{ match: 'send', action: 'require_approval' }] });
  });

  /** Ends with its signal only. */
  const slow = (effect: ToolEffect) =>
    defineTool({
      name: `slow_${effect}`,
      description: effect,
      input: { type: 'object' },
      effect,
      execute: (_, { signal, callId }) => {
        begun.push(callId);
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reject(new Error('stopped'));
          });
        });
      },
    });
  const call = (name: string) => ({ id: name, name, arguments: '{"to":"x"}' });
  const tools = ['send', 'look_up', 'slow_pure', 'slow_idempotent', 'slow_once'];
  const stopped = async (names: readonly string[], running: number) => {
    stage.model.enqueue(toolCallReply(names.map(call)));
    const { jobId, threadId } = await stage.ask(tools);
    const quick = names.filter((name) => name === 'look_up').length;
    await eventually('the tools run', () =>
      begun.length === running && stage.ran.length === quick ? true : undefined,
    );
    expect(await stage.engine.app.get(JobStopper).stop(scopeOf(stage.people.member), jobId)).toBe('aborted');
    const { status, calls } = await stage.ended(jobId);
    const open = await stage.rows(`SELECT 1 FROM interrupt WHERE job_id = $1 AND status = 'open'`, [jobId]);
    return { threadId, status, open, ends: Object.fromEntries(calls.map(({ name, status: end }) => [name, end])) };
  };

  it('closes an unwritten round of pure calls', async () => {
    expect(await stopped(['slow_pure', 'look_up'], 1)).toMatchObject({
      status: 'cancelled',
      ends: { slow_pure: 'cancelled', look_up: 'completed' },
    });
  });

  it('closes each call by its effect, and its requests', async () => {
    expect(await stopped(['slow_once', 'send', 'slow_idempotent', 'look_up'], 2)).toMatchObject({
      status: 'cancelled',
      open: [],
      ends: { slow_once: 'interrupted', send: 'cancelled', slow_idempotent: 'cancelled', look_up: 'completed' },
    });
  });

  it('leaves its thread usable', async () => {
    const { threadId } = await stopped(['slow_once', 'send'], 1);
    stage.model.enqueue(textReply(['Fine.']));
    const { jobId } = await stage.ask([], { threadRef: threadId, createThread: false });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Fine.' });
    const messages = JSON.stringify(stage.model.requests.at(-1)?.json['messages']);
    expect(messages).toContain('The tool was started but its outcome is unknown. It was not repeated.');
  });
});
