import { describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { approve, call, done, type NodeStage, saying, useNodeStage, viewOf } from '../harness/node-conversations.js';
import { createGate, textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: NodeStage;

useNodeStage((opened) => {
  stage = opened;
});

describe('concurrent conversations of nodes', () => {
  it('number rounds per job, run each call once and keep equal call ids apart', async () => {
    stage.script('a', toolCallReply([call('send', 'ada')]), textReply(['A.']));
    stage.script('b', toolCallReply([call('send', 'bob')]), textReply(['B.']));
    const answers: unknown[] = [];
    stage.plays(async (conversations, run) => {
      const asked = [
        conversations.converse(viewOf(run, 1), saying('a')),
        conversations.converse(viewOf(run, 2), saying('b')),
      ];
      answers.push(...(await Promise.all(asked)));
      return done;
    });
    const jobId = await stage.start();
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    expect(answers).toEqual([
      { type: 'answered', text: 'A.', captured: null },
      { type: 'answered', text: 'B.', captured: null },
    ]);
    const rounds = await stage.roundsOf(jobId);
    expect(rounds.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
    expect(rounds.filter(({ node }) => node === 1).map(({ text }) => text)).toEqual(['', 'A.']);
    expect(stage.ran.map(([, { to }]) => to).sort()).toEqual(['ada', 'bob']);
    const ids = (await stage.callsOf(jobId)).map(({ callId: id }) => id);
    expect(new Set(ids).size).toBe(2);
  });

  it('wait for people separately and continue from their commits when the job is claimed again', async () => {
    await stage.policy({ rules: [{ match: 'send', action: 'require_approval' }] });
    stage.script('a2', toolCallReply([call('send', 'ada')]), textReply(['Sent.']));
    stage.script('b2', toolCallReply([call('look_up', 'bob')]), textReply(['Found.']));
    const answers: unknown[] = [];
    stage.plays(async (conversations, run) => {
      const [a, b] = await Promise.all([
        conversations.converse(viewOf(run, 1), saying('a2')),
        conversations.converse(viewOf(run, 2), saying('b2')),
      ]);
      answers.push([a.type, b.type]);
      return a.type === 'waiting' ? { status: 'waiting', interruptIds: a.interruptIds } : done;
    });
    const jobId = await stage.start();
    const [interrupt] = await stage.waits(jobId);
    if (interrupt === undefined) throw new Error('no person is asked');
    expect(interrupt).toMatchObject({ nodeId: 'n1', tool: 'send' });
    await stage.decide(stage.people.member, interrupt, approve(interrupt.request));
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    expect(answers).toEqual([
      ['waiting', 'answered'],
      ['answered', 'answered'],
    ]);
    expect([stage.asked('a2'), stage.asked('b2')]).toEqual([2, 2]);
    expect(stage.ran.filter(([name]) => name === 'look_up')).toHaveLength(1);
  });

  it('continue under the same claim when an answer arrives while others run', async () => {
    await stage.policy({ rules: [{ match: 'send', action: 'require_approval' }] });
    const slow = createGate();
    stage.script('a1', toolCallReply([call('send', 'ada')]), textReply(['Sent.']));
    stage.script('b1', { before: slow, ...textReply(['Late.']) });
    const epochs: number[] = [];
    const approved = createGate();
    stage.plays(async (conversations, run) => {
      epochs.push(run.job.epoch);
      const other = conversations.converse(viewOf(run, 2), saying('b1'));
      expect(await conversations.converse(viewOf(run, 1), saying('a1'))).toMatchObject({ type: 'waiting' });
      await run.commit();
      await approved.opened;
      expect(await conversations.converse(viewOf(run, 1), saying('a1'))).toMatchObject({
        type: 'answered',
        text: 'Sent.',
      });
      slow.open();
      expect(await other).toMatchObject({ type: 'answered', text: 'Late.' });
      return done;
    });
    const jobId = await stage.start();
    const id = await eventually('a request is open', async () => {
      const [row] = await stage.rows<{ id: string }>(`SELECT id FROM interrupt WHERE job_id = $1`, [jobId]);
      return row?.id;
    });
    const [event] = await stage.eventsOf(jobId, 'interrupt-opened');
    const { argumentsHash } = event?.['request'] as Record<string, unknown>; // an object by the vocabulary
    const { workspaceId } = stage.people.member;
    const interrupt = { ...{ workspaceId, id, jobId }, request: { argumentsHash } };
    await stage.decide(stage.people.member, interrupt as never, { decision: 'approve', argumentsHash });
    approved.open();
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    expect(epochs).toEqual([1]);
    expect(stage.ran).toEqual([['send', { to: 'ada' }]]);
  });
});

describe('tool call of a workflow node', () => {
  it('uses ledger and policy and runs once for repeated requests', async () => {
    await stage.policy({ rules: [{ match: 'send', action: 'require_approval' }] });
    const ends: unknown[] = [];
    stage.plays(async (conversations, run) => {
      const looked = await conversations.callTool(viewOf(run, 1), { name: 'look_up', arguments: '{"to":"x"}' });
      const sent = await conversations.callTool(viewOf(run, 2), { name: 'send', arguments: '{"to":"ada"}' });
      ends.push(looked, sent);
      return sent.type === 'waiting' ? { status: 'waiting', interruptIds: sent.interruptIds } : done;
    });
    const jobId = await stage.start();
    const [interrupt] = await stage.waits(jobId);
    if (interrupt === undefined) throw new Error('no person is asked');
    await stage.decide(stage.people.member, interrupt, approve(interrupt.request));
    await stage.ended(jobId);
    expect(ends).toEqual([
      { type: 'finished', status: 'completed', text: 'look_up done' },
      { type: 'waiting', interruptIds: [interrupt.id], calls: [] },
      { type: 'finished', status: 'completed', text: 'look_up done' },
      { type: 'finished', status: 'completed', text: 'send done' },
    ]);
    expect(stage.ran.map(([name]) => name)).toEqual(['look_up', 'send']);
  });

  it('reports a failure with the text that a model reads', async () => {
    let end: unknown;
    stage.plays(async (conversations, run) => {
      end = await conversations.callTool(viewOf(run, 1), { name: 'look_up', arguments: '{}' });
      return done;
    });
    await stage.ended(await stage.start());
    expect(end).toEqual({ type: 'finished', status: 'error', text: 'Missing required parameters: to' });
  });
});
