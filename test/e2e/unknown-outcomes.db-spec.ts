import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { type MemberPrincipal, scopeOf } from '#auth';
import type { StartChat } from '#chat';
import { type Interrupt, JobQueue, JobStopper } from '#jobs';
import { AppError } from '#platform';
import { defineTool, ToolOutcomeUnknown, ToolRegistry, type Verification } from '#tools';

import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { eventually } from '../harness/eventually.js';
import { createGate, type Gate, textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: ApprovalStage;
/** Holds every call but those that are let through. */
let gate: Gate;
/** What the tools were called with, by key, in order. */
const called: { readonly name: string; readonly key: string; readonly to: unknown }[] = [];
/** The verification result of `book` for a lost call. */
let verify: () => Promise<Verification>;

const input = { type: 'object', properties: { to: { type: 'string' }, pin: { type: 'string' } } } as const;
const unknownText = 'The tool was started but its outcome is unknown. It was not repeated.';

beforeAll(async () => {
  stage = await openApprovalStage({ TOOL_TIMEOUT_MS: '300', LOG_LEVEL: 'silent' });
  for (const [name, more] of [
    ['pay', { sensitiveFields: ['pin'] }],
    ['book', { verify: () => verify() }],
    ['wire', { onUnknown: 'fail' }],
  ] as const) {
    const tool = defineTool({
      ...{ name, description: name, input, timeoutMs: 60_000, ...more },
      execute: async ({ to }, { idempotencyKey: key }) => {
        called.push({ name, key, to });
        await gate.opened;
        return `${name} done`;
      },
    });
    stage.engine.app.get(ToolRegistry).register(tool);
  }
});
beforeEach(async () => {
  gate = createGate();
  called.length = 0;
  verify = () => Promise.resolve({ outcome: 'unknown' });
  await stage.policy({});
});
afterEach(() => {
  gate.open();
  stage.model.assertDone();
});
afterAll(async () => {
  await stage.close();
});

const call = (name: string, id = 'a') => ({ id, name, arguments: `{"to":"${id}","pin":"1234"}` });
const running = (count: number) => eventually(`${count} calls run`, () => (called.length >= count ? true : undefined));

/** As if the worker died now and another one took over its started calls. */
async function loseWorker(jobId: string): Promise<void> {
  const { workspaceId } = stage.people.owner;
  await stage.rows(
    `UPDATE job SET lease_epoch = lease_epoch + 1, lease_until = clock_timestamp() - interval '1 s' WHERE id = $1`,
    [jobId],
  );
  stage.engine.app.get(JobQueue).hint({ workspaceId, jobId, kind: 'chat' });
}

/** A job that lost its worker while all these calls ran. The model answers once more, with `Done.`. */
async function lost(...calls: readonly ReturnType<typeof call>[]): Promise<string> {
  stage.model.enqueue(toolCallReply(calls), textReply(['Done.']));
  const { jobId } = await stage.ask(['send', 'pay', 'book', 'wire']);
  await running(calls.length);
  await loseWorker(jobId);
  return jobId;
}

async function lostOne(one = call('pay')): Promise<{ readonly jobId: string; readonly interrupt: Interrupt }> {
  const jobId = await lost(one);
  const [interrupt] = await stage.waits(jobId);
  if (interrupt === undefined) throw new Error('no person is asked');
  return { jobId, interrupt };
}

const results = () => {
  const messages = stage.model.requests.at(-1)?.json['messages'] as readonly { role: string; content: string }[];
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
};
const decide = (interrupt: Interrupt, answer: object, by: MemberPrincipal = stage.people.member) =>
  stage.decide(by, interrupt, answer);
const statusOf = async (jobId: string, callId = 'a') => {
  const { calls } = await stage.ended(jobId);
  return calls.find((one) => one.callId === callId)?.status;
};

describe('call with an unknown outcome', () => {
  it('opens a request with the known facts and no secret', async () => {
    const { jobId, interrupt } = await lostOne();
    expect(interrupt).toMatchObject({
      ...{ kind: 'unknown_outcome', status: 'open', tool: 'pay', callId: 'a', requester: stage.people.member.userId },
      request: {
        tool: 'pay',
        argumentsPreview: expect.stringContaining('***'),
        decisions: ['happened', 'did_not_happen', 'repeat', 'report'],
      },
    });
    expect(JSON.stringify(interrupt.request)).not.toContain('1234');
    await decide(interrupt, { decision: 'report' });
    expect(await statusOf(jobId)).toBe('interrupted');
    expect(results()).toEqual([unknownText]);
  });

  it.each([
    ['a text', 'Paid.', 'Paid.'],
    ['JSON', { receipt: 7 }, '{"receipt":7}'],
    ['nothing', undefined, ''],
  ])('completes as happened with %s as its result', async (_what, result, read) => {
    const { jobId, interrupt } = await lostOne();
    await decide(interrupt, { decision: 'happened', result });
    expect(await statusOf(jobId)).toBe('completed');
    expect(results()).toEqual([read]);
    expect(called).toHaveLength(1);
  });

  it('rejects the result of the worker that lost it', async () => {
    const { jobId, interrupt } = await lostOne();
    gate.open();
    await decide(interrupt, { decision: 'did_not_happen' });
    expect(await statusOf(jobId)).toBe('error');
    expect(results()).toEqual(['Error executing tool "pay": it did not happen']);
  });

  it('accepts only valid decisions of permitted users, and stays open until then', async () => {
    const { jobId, interrupt } = await lostOne();
    const { viewer, admin } = stage.people;
    for (const other of [viewer, admin])
      await expect(decide(interrupt, { decision: 'repeat' }, other)).rejects.toMatchObject({ code: 'cannot_decide' });
    for (const [answer, message] of [
      [{}, 'Missing decision'],
      [{ decision: 'approve' }, 'Invalid decision'],
    ] as const)
      await expect(decide(interrupt, answer)).rejects.toMatchObject({ code: 'bad_request', message });
    await expect(decide(interrupt, { decision: 'happened', result: 'x'.repeat(300_000) })).rejects.toMatchObject({
      code: 'too_large',
    });
    expect((await stage.waits(jobId)).map(({ id }) => id)).toEqual([interrupt.id]);
    await decide(interrupt, { decision: 'report' });
    await stage.ended(jobId);
  });

  it('accepts one of many concurrent decisions, and its repeat', async () => {
    const decisions = ['happened', 'did_not_happen', 'repeat', 'report'] as const;
    gate.open();
    for (const order of fc.sample(fc.shuffledSubarray([...decisions, ...decisions], { minLength: 8 }), 6)) {
      called.length = 0;
      gate = createGate();
      const { jobId, interrupt } = await lostOne();
      gate.open();
      const answers = await Promise.allSettled(order.map((decision) => decide(interrupt, { decision })));
      const taken = order.filter((_, i) => answers[i]?.status === 'fulfilled');
      expect([taken.length, new Set(taken).size]).toEqual([2, 1]);
      for (const answer of answers)
        if (answer.status === 'rejected')
          expect(answer.reason).toMatchObject({ code: 'already_answered', details: { outcome: taken[0] } });
      await stage.ended(jobId);
      expect(called).toHaveLength(taken[0] === 'repeat' ? 2 : 1);
      const audited = await stage.database.postgres.withWorkspaceSql(stage.people.owner.workspaceId, (client) =>
        client.query('SELECT action FROM audit_entry WHERE subject_id = $1', [interrupt.id]),
      );
      expect(audited.rows).toEqual([{ action: `unknown_outcome.${taken[0] ?? ''}` }]);
    }
  });

  it('settles each of several calls separately, and continues the model after the last', async () => {
    const jobId = await lost(call('pay', 'a'), call('pay', 'b'), call('pay', 'c'));
    const requests = await stage.waits(jobId);
    expect(requests.map(({ callId }) => callId).toSorted()).toEqual(['a', 'b', 'c']);
    const of = (callId: string) => requests.find((request) => request.callId === callId) ?? requests[0];
    const [a, b, c] = [of('a'), of('b'), of('c')];
    if (a === undefined || b === undefined || c === undefined) throw new Error('three are asked about');
    gate.open();
    await decide(b, { decision: 'repeat' });
    await running(4);
    await decide(c, { decision: 'happened', result: 'c is paid' });
    expect((await stage.waits(jobId)).map(({ id }) => id)).toEqual([a.id]);
    await decide(a, { decision: 'report' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Done.' });
    expect(results()).toEqual([unknownText, 'pay done', 'c is paid']);
    expect(called.at(-1)).toMatchObject({ key: `${jobId}:1:2` });
  });

  it('opens another request when it is lost again', async () => {
    const { jobId, interrupt } = await lostOne();
    await decide(interrupt, { decision: 'repeat' });
    await running(2);
    await loseWorker(jobId);
    const [again] = await stage.waits(jobId);
    if (again === undefined) throw new Error('no person is asked');
    expect([again.id === interrupt.id, again.kind]).toEqual([false, 'unknown_outcome']);
    gate.open();
    await decide(again, { decision: 'repeat' });
    expect(await statusOf(jobId)).toBe('completed');
    expect(called.map(({ key }) => key)).toEqual(Array.from({ length: 3 }, () => `${jobId}:1:1`));
    const [row] = await stage.rows('SELECT decision_id FROM tool_call WHERE job_id = $1', [jobId]);
    expect(row).toEqual({ decision_id: again.id });
  });

  it('becomes a report when the request expires', async () => {
    const { jobId, interrupt } = await lostOne();
    await stage.rows(`UPDATE interrupt SET expires_at = clock_timestamp() WHERE id = $1`, [interrupt.id]);
    await stage.timers();
    expect(await statusOf(jobId)).toBe('interrupted');
    expect(results()).toEqual([unknownText]);
    await expect(decide(interrupt, { decision: 'repeat' })).rejects.toMatchObject({ code: 'expired' });
    const [row] = await stage.rows('SELECT status, outcome, decided_by FROM interrupt WHERE id = $1', [interrupt.id]);
    expect(row).toEqual({ status: 'expired', outcome: { outcome: 'report' }, decided_by: null });
  });

  it('stays unknown when its job is cancelled', async () => {
    stage.model.enqueue(toolCallReply([call('pay')]));
    const { jobId } = await stage.ask(['pay']);
    await running(1);
    await loseWorker(jobId);
    const [interrupt] = await stage.waits(jobId);
    if (interrupt === undefined) throw new Error('no person is asked');
    expect(await stage.engine.app.get(JobStopper).stop(scopeOf(stage.people.member), jobId)).toBe('aborted');
    expect(await statusOf(jobId)).toBe('interrupted');
    await expect(decide(interrupt, { decision: 'repeat' })).rejects.toMatchObject({
      code: 'already_answered',
      details: { outcome: 'cancelled' },
    });
  });

  it('fails its job when its tool requires that, and closes the other requests', async () => {
    stage.model.enqueue(toolCallReply([call('wire', 'a'), call('pay', 'b')]));
    const { jobId } = await stage.ask(['pay', 'wire']);
    await running(2);
    await loseWorker(jobId);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'unknown_outcome' } });
    expect(await stage.rows('SELECT DISTINCT status FROM tool_call WHERE job_id = $1', [jobId])).toEqual([
      { status: 'interrupted' },
    ]);
    expect(await stage.rows(`SELECT 1 FROM interrupt WHERE job_id = $1 AND status = 'open'`, [jobId])).toEqual([]);
  });
});

describe('tool with verify', () => {
  it.each<[Verification, string, string]>([
    [{ outcome: 'happened', result: { table: 7 } }, 'completed', '{"table":7}'],
    [{ outcome: 'did_not_happen' }, 'error', 'did not happen'],
  ])('settles a lost call with %j', async (verified, status, text) => {
    verify = () => Promise.resolve(verified);
    const jobId = await lost(call('book'));
    expect(await statusOf(jobId)).toBe(status);
    expect(results()[0]).toContain(text);
    expect(await stage.rows('SELECT 1 FROM interrupt WHERE job_id = $1', [jobId])).toEqual([]);
  });

  it.each<[string, () => Promise<Verification>, string | null]>([
    [
      'does not know',
      () => Promise.resolve({ outcome: 'unknown', note: 'The far side is silent.' }),
      'The far side is silent.',
    ],
    [
      'fails',
      () => Promise.reject(new AppError({ code: 'internal', message: 'secret' })),
      'The tool could not determine the outcome.',
    ],
    ['does not answer', () => new Promise(() => undefined), 'The tool did not respond in time.'],
  ])('asks a person when verify %s, and shows that', async (_what, verified, verification) => {
    verify = verified;
    const { jobId, interrupt } = await lostOne(call('book'));
    expect(interrupt.request).toMatchObject({ verification });
    await decide(interrupt, { decision: 'happened', result: 'Booked.' });
    expect(await statusOf(jobId)).toBe('completed');
  });
});

describe('approved call with an unknown outcome', () => {
  it('repeats with the approved arguments after a decision of a permitted user', async () => {
    await stage.policy({
      rules: [{ match: 'pay', action: 'require_approval', decidableBy: 'approvers', fourEyes: true }],
    });
    stage.model.enqueue(toolCallReply([call('pay')]), textReply(['Done.']));
    const { jobId } = await stage.ask(['pay']);
    const [approval] = await stage.waits(jobId);
    if (approval === undefined) throw new Error('no person is asked');
    const edited = { decision: 'approve', argumentsHash: approval.request['argumentsHash'], arguments: { to: 'b' } };
    await decide(approval, edited, stage.people.admin);
    await running(1);
    await loseWorker(jobId);
    const [interrupt] = await stage.waits(jobId);
    if (interrupt === undefined) throw new Error('no person is asked');
    expect(interrupt).toMatchObject({
      kind: 'unknown_outcome',
      request: { argumentsPreview: expect.stringContaining('b') },
    });
    gate.open();
    await decide(interrupt, { decision: 'repeat' });
    expect(await statusOf(jobId)).toBe('completed');
    expect(called.map(({ key, to }) => [key, to])).toEqual(Array.from({ length: 2 }, () => [`${jobId}:1:1`, 'b']));
    const [row] = await stage.rows('SELECT approval, decided_by, decision_id FROM tool_call WHERE job_id = $1', [
      jobId,
    ]);
    expect(row).toEqual({ approval: 'person', decided_by: stage.people.admin.id, decision_id: interrupt.id });
  });
});

describe('once tool that reports an unknown outcome', () => {
  beforeAll(() => {
    const tool = defineTool({
      ...{ name: 'charge', description: 'd', input: { type: 'object' }, timeoutMs: 60_000 },
      execute: (_, { idempotencyKey: key }) => {
        called.push({ name: 'charge', key, to: null });
        if (called.length > 1) return 'paid';
        throw new ToolOutcomeUnknown('the line broke');
      },
    });
    stage.engine.app.get(ToolRegistry).register(tool);
  });

  const asked = async (changes: Partial<StartChat> = {}) => {
    stage.model.enqueue(
      toolCallReply([
        { id: 'c', name: 'charge', arguments: '{}' },
        { id: 'l', name: 'look_up', arguments: '{"to":"x"}' },
      ]),
      textReply(['Done.']),
    );
    const { jobId } = await stage.ask(['charge', 'look_up'], changes);
    const [interrupt] = await stage.waits(jobId);
    if (interrupt === undefined) throw new Error('no person is asked');
    return { jobId, interrupt };
  };

  it.each(['thread', 'request'] as const)(
    'asks a person and repeats the call with the same key only by decision (%s)',
    async (history) => {
      const { jobId, interrupt } = await asked({ history });
      expect(interrupt).toMatchObject({
        ...{ kind: 'unknown_outcome', tool: 'charge' },
        request: { startedAt: expect.any(Number) },
      });
      expect(called).toHaveLength(1);
      await stage.decide(stage.people.member, interrupt, { decision: 'repeat' });
      expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
      expect(called.map(({ key }) => key)).toEqual([`${jobId}:1:1`, `${jobId}:1:1`]);
    },
  );

  it('takes the result that a person reports', async () => {
    const { jobId, interrupt } = await asked();
    await stage.decide(stage.people.member, interrupt, { decision: 'happened', result: { receipt: 7 } });
    expect(await stage.ended(jobId)).toMatchObject({
      calls: [{ status: 'completed', result: '{"receipt":7}' }, { status: 'completed' }],
    });
    expect(called).toHaveLength(1);
  });
});
