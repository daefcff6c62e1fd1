import { describe, expect, it } from '@jest/globals';

import { ConversationFailed } from '#chat';
import type { JobRun } from '#jobs';
import { defineTool, ToolRegistry } from '#tools';

import { eventually } from '../harness/eventually.js';
import { approve, call, done, type NodeStage, saying, useNodeStage, viewOf } from '../harness/node-conversations.js';
import {
  createGate,
  deltaChunk,
  doneLine,
  errorReply,
  finishChunk,
  textReply,
  toolCallReply,
} from '../harness/scripted-reply.js';

let stage: NodeStage;

useNodeStage((opened) => {
  stage = opened;
});

describe('conversation of a workflow node', () => {
  it('replays its rounds after a crash and withdraws the text of the open one', async () => {
    const hanging = createGate();
    stage.script('c', toolCallReply([call('send', 'ada')]));
    stage.script('c', { body: [deltaChunk({ content: 'Hal' }), hanging, finishChunk('stop'), doneLine] });
    stage.script('c', textReply(['Whole.']));
    const runs: JobRun[] = [];
    stage.plays(async (conversations, run) => {
      runs.push(run);
      const answer = await conversations.converse(viewOf(run, 1), saying('c'));
      expect(answer).toEqual({ type: 'answered', text: 'Whole.', captured: null });
      return done;
    });
    const jobId = await stage.start();
    await eventually('half a word is shown', async () => (await stage.eventsOf(jobId, 'text-delta')).at(0));
    const [first] = runs;
    if (first === undefined) throw new Error('it never ran');
    await stage.loseLease(first);
    hanging.open();
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    expect(stage.ran).toEqual([['send', { to: 'ada' }]]);
    expect(await stage.eventsOf(jobId, 'round-restarted')).toMatchObject([
      { round: 2, reason: 'worker_lost', nodeId: 'n1' },
    ]);
    expect((await stage.roundsOf(jobId)).map(({ number, text }) => [number, text])).toEqual([
      [1, ''],
      [3, 'Whole.'],
    ]);
  });

  it('asks a person about a call that ran when its worker was lost', async () => {
    const begun = createGate();
    stage.engine.app.get(ToolRegistry).register(
      defineTool({
        ...{ name: 'pay', description: 'd', input: { type: 'object' } },
        execute: (_, { signal }) => {
          begun.open();
          return new Promise((_resolve, reject) => {
            signal.addEventListener('abort', reject);
          });
        },
      }),
    );
    stage.script('m', toolCallReply([call('pay', 'ada')]), textReply(['Paid, I think.']));
    stage.script('n', textReply(['Meanwhile.']));
    const runs: JobRun[] = [];
    stage.plays(async (conversations, run) => {
      runs.push(run);
      const [paid, other] = await Promise.all([
        conversations.converse(viewOf(run, 1), saying('m', { tools: ['pay'] })),
        conversations.converse(viewOf(run, 2), saying('n')),
      ]);
      expect(other).toMatchObject({ text: 'Meanwhile.' });
      return paid.type === 'waiting' ? { status: 'waiting', interruptIds: paid.interruptIds } : done;
    });
    const jobId = await stage.start();
    await begun.opened;
    await eventually('both have a round', async () => ((await stage.roundsOf(jobId)).length === 2 ? true : undefined));
    const [first] = runs;
    if (first === undefined) throw new Error('it never ran');
    await stage.loseLease(first);
    const [interrupt] = await stage.waits(jobId);
    if (interrupt === undefined) throw new Error('no person is asked');
    expect(interrupt).toMatchObject({ kind: 'unknown_outcome', tool: 'pay', nodeId: 'n1' });
    expect(await stage.eventsOf(jobId, 'tool-call-updated')).toMatchObject([{ internalStatus: 'interrupted' }]);
    await stage.decide(stage.people.member, interrupt, { decision: 'happened', result: 'paid' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', calls: [{ status: 'completed' }] });
  });

  it('ends at its limit after the last tools and continues with a higher limit', async () => {
    const round = (n: number) => toolCallReply([call('look_up', String(n))], { text: `Round ${n}.` });
    stage.script('d', round(1), round(2), textReply(['Enough.']));
    const answers: unknown[] = [];
    stage.plays(async (conversations, run) => {
      answers.push(await conversations.converse(viewOf(run, 1), saying('d', { maxIterations: 2 })));
      expect(stage.ran).toHaveLength(2);
      answers.push(await conversations.converse(viewOf(run, 1), saying('d', { maxIterations: 4 })));
      return done;
    });
    await stage.ended(await stage.start());
    expect(answers).toEqual([
      { type: 'limit', text: 'Round 2.' },
      { type: 'answered', text: 'Enough.', captured: null },
    ]);
  });

  it('returns the call of the capture tool as its answer and stores it with the round', async () => {
    const capture = { type: 'function', function: { name: 'select_route', parameters: { type: 'object' } } } as const;
    const toolChoice = { type: 'function', function: { name: 'select_route' } } as const;
    const asking = saying('e', { capture, toolChoice, tools: [], isShown: false, maxIterations: 1 });
    const chosen = { id: 'x', name: 'select_route', arguments: '{"route_id":"r1"}' };
    stage.script('e', toolCallReply([chosen, call('send', 'unknown', 'y')]));
    const answers: unknown[] = [];
    stage.plays(async (conversations, run) => {
      answers.push(await conversations.converse(viewOf(run, 1, { branch: 'route' }), asking));
      answers.push(await conversations.converse(viewOf(run, 1, { branch: 'route' }), asking));
      return done;
    });
    const jobId = await stage.start();
    await stage.ended(jobId);
    const answer = { type: 'answered', text: '', captured: '{"route_id":"r1"}' };
    expect(answers).toEqual([answer, answer]);
    expect(await stage.roundsOf(jobId)).toMatchObject([{ node: 1, branch: 'route', captured: '{"route_id":"r1"}' }]);
    expect(await stage.callsOf(jobId)).toEqual([]);
    expect(stage.model.requests.at(-1)?.json).toMatchObject({ tool_choice: toolChoice, tools: [capture] });
  });

  it('reports the error of the provider, and continues after its last round when reopened', async () => {
    stage.script(
      'f',
      toolCallReply([call('send', 'ada')]),
      errorReply(429, {}, { 'retry-after': '7' }),
      textReply(['Ok.']),
    );
    stage.plays(async (conversations, run) => {
      const failed = conversations.converse(viewOf(run, 1), saying('f'));
      await expect(failed).rejects.toBeInstanceOf(ConversationFailed);
      await expect(failed).rejects.toMatchObject({
        ...{ code: 'model_rate_limited', statusCode: 429, retryAfterMs: 7_000, endsJob: false },
      });
      expect(await conversations.converse(viewOf(run, 1), saying('f'))).toMatchObject({ text: 'Ok.' });
      return done;
    });
    expect(await stage.ended(await stage.start())).toMatchObject({ status: 'completed' });
    expect(stage.ran).toHaveLength(1);
  });

  it('reports an unknown tool with the text of workflows', async () => {
    stage.script('g', toolCallReply([call('nothing', 'x')]), textReply(['Well.']));
    stage.plays(async (conversations, run) => {
      await conversations.converse(viewOf(run, 1), saying('g'));
      return done;
    });
    await stage.ended(await stage.start());
    const messages = stage.model.requests.at(-1)?.json['messages'];
    expect(messages).toContainEqual(
      expect.objectContaining({ role: 'tool', content: 'Tool nothing not found or no handler registered' }),
    );
  });

  it('ends alone when its node is stopped, and withdraws its text', async () => {
    const hanging = createGate();
    const slow = createGate();
    stage.script('h', { body: [deltaChunk({ content: 'Hal' }), hanging, finishChunk('stop'), doneLine] });
    stage.script('i', { before: slow, ...textReply(['Still here.']) });
    const node = new AbortController();
    stage.plays(async (conversations, run) => {
      const stopped = conversations.converse(viewOf(run, 1, { signal: node.signal }), saying('h'));
      const other = conversations.converse(viewOf(run, 2), saying('i'));
      await expect(stopped).rejects.toThrow('the node has had its time');
      slow.open();
      expect(await other).toMatchObject({ type: 'answered', text: 'Still here.' });
      return done;
    });
    const jobId = await stage.start();
    await eventually('half a word is shown', async () => (await stage.eventsOf(jobId, 'text-delta')).at(0));
    node.abort(new Error('the node has had its time'));
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    hanging.open();
    expect(await stage.eventsOf(jobId, 'round-restarted')).toMatchObject([{ reason: 'node_stopped', nodeId: 'n1' }]);
    expect((await stage.roundsOf(jobId)).map(({ text }) => text)).toEqual(['Still here.']);
  });

  it('closes its requests and leaves those of other nodes open', async () => {
    await stage.policy({ rules: [{ match: 'send', action: 'require_approval' }] });
    stage.script('j', toolCallReply([call('send', 'ada')]));
    stage.script('k', toolCallReply([call('send', 'bob')]), textReply(['Sent.']));
    let isFirst = true;
    stage.plays(async (conversations, run) => {
      if (isFirst) await conversations.converse(viewOf(run, 1), saying('j'));
      const answer = await conversations.converse(viewOf(run, 2), saying('k'));
      if (isFirst) await conversations.close(1);
      isFirst = false;
      return answer.type === 'waiting' ? { status: 'waiting', interruptIds: answer.interruptIds } : done;
    });
    const jobId = await stage.start();
    const [left, ...others] = await stage.waits(jobId);
    if (left === undefined) throw new Error('no person is asked');
    expect([left.nodeId, others]).toEqual(['n2', []]);
    await stage.decide(stage.people.member, left, approve(left.request));
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    expect((await stage.callsOf(jobId)).map(({ status }) => status)).toEqual(['cancelled', 'completed']);
  });
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
