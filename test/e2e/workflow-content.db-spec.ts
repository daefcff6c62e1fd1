import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';

import { SnapshotRepository } from '#jobs';

import { WorkflowRunner } from '../../libs/workflows/src/run/workflow-runner.js';
import { eventually } from '../harness/eventually.js';
import { createGate, deltaChunk, errorReply, textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { agent, openWorkflowStage, type StoredEvent, type WorkflowStage } from '../harness/workflow-stage.js';

let stage: WorkflowStage;

beforeAll(async () => {
  stage = await openWorkflowStage({ MAX_OUTPUT_BYTES: '65536', LOG_LEVEL: 'silent' });
});
afterEach(() => {
  stage.assertPlayed();
});
afterAll(async () => {
  await stage.close();
});

const output = { type: 'output', format: 'text' };
const snapshot = (jobId: string) =>
  stage.engine.app.get(SnapshotRepository).read(stage.people.owner.workspaceId, jobId);
const deltas = (events: readonly StoredEvent[]) =>
  events.filter(({ type }) => type === 'text-delta').map(({ body }) => [body['nodeId'], body['offset'], body['text']]);
/** What a viewer shows who has followed from the start. */
function shown(events: readonly StoredEvent[]): string {
  return events.reduce((text, { type, body }) => {
    if (type === 'round-restarted') return text.slice(0, Number(body['contentLength']));
    return type === 'text-delta' && 'offset' in body ? text + String(body['text']) : text;
  }, '');
}
describe('content of a workflow job', () => {
  it('equals the stream of its only final node', async () => {
    stage.script('Answer.', textReply(['The ', 'answer.']));
    const jobId = await stage.run({ a: agent('Answer.') }, ['start -> a']);
    expect(await stage.ended(jobId)).toMatchObject({ content: 'The answer.', attempt: 0 });
    expect(deltas(await stage.eventsOf(jobId))).toEqual([['a', 0, 'The answer.']]);
    expect((await stage.eventsOf(jobId)).at(-1)?.body).toMatchObject({ content_length: 11, status: 'completed' });
  });

  it('includes the reasoning of its only final node', async () => {
    const thinking = deltaChunk({ reasoning_content: 'Hm.' });
    const reply = textReply(['The answer.']);
    stage.script('Think.', { ...reply, body: [thinking, ...reply.body] });
    const jobId = await stage.run({ a: agent('Think.') }, ['start -> a']);
    expect(await stage.ended(jobId)).toMatchObject({ content: 'The answer.', reasoning: 'Hm.' });
    expect(
      await stage.rows('SELECT text, reasoning FROM round WHERE job_id = $1 AND node_run IS NULL', [jobId]),
    ).toEqual([{ text: 'The answer.', reasoning: 'Hm.' }]);
  });

  it('omits the text of nodes before the leaf', async () => {
    stage.script('Draft.', textReply(['A draft.']));
    stage.script('Finish.', textReply(['Finished.']));
    const jobId = await stage.run({ a: agent('Draft.'), b: agent('Finish.') }, ['start -> a', 'a -> b']);
    expect(await stage.ended(jobId)).toMatchObject({ content: 'Finished.', attempt: 0 });
    expect(deltas(await stage.eventsOf(jobId))).toEqual([
      ['a', undefined, 'A draft.'],
      ['b', 0, 'Finished.'],
    ]);
  });

  it('streams all leaves while the job runs, and equals the final output at the end', async () => {
    const gate = createGate();
    stage.script('First.', textReply(['One.']));
    stage.script('Second.', { ...textReply(['Two.']), before: gate });
    const jobId = await stage.run({ a: agent('First.'), b: agent('Second.') }, ['start -> a', 'start -> b']);
    await eventually('the first has streamed its text', async () =>
      (await snapshot(jobId))?.content === 'One.' ? true : undefined,
    );
    gate.open();
    expect(await stage.ended(jobId)).toMatchObject({ content: 'Two.', attempt: 1 });
    const events = await stage.eventsOf(jobId);
    expect(shown(events)).toBe('Two.');
    expect(events.at(-1)?.body).toMatchObject({ content_length: 4 });
  });

  it('arrives from an output node in one piece', async () => {
    stage.script('Draft.', textReply(['A draft.']));
    const nodes = { a: agent('Draft.'), out: { ...output, sources: ['a'], introText: 'Here:' } };
    const jobId = await stage.run(nodes, ['start -> a', 'a -> out']);
    expect(await stage.ended(jobId)).toMatchObject({ content: 'Here:\n\nA draft.', attempt: 0 });
  });

  it('withdraws the text of a leaf that fails in the middle, and streams its retry', async () => {
    const broken = { body: [textChunk('Half of ')], end: 'destroy' } as const;
    stage.script('Answer.', broken, textReply(['The whole.']));
    const retry = { errorHandling: { retry: { maxRetries: 1, baseDelay: 1 } } };
    const jobId = await stage.run({ a: agent('Answer.', retry) }, ['start -> a']);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'The whole.' });
    expect(shown(await stage.eventsOf(jobId))).toBe('The whole.');
  });

  it('keeps the streamed text of a failed run', async () => {
    stage.script('First.', textReply(['One.']));
    stage.script('Second.', errorReply(400));
    const jobId = await stage.run({ a: agent('First.'), b: agent('Second.') }, ['start -> a', 'start -> b']);
    const { status, content } = await stage.ended(jobId);
    expect([status, content]).toEqual(['failed', shown(await stage.eventsOf(jobId))]);
  });

  /** Of rounds of no node, and once the log has lost its texts. */
  const keptOf = async (jobId: string) => {
    await stage.rows(`DELETE FROM job_event WHERE job_id = $1 AND type = 'text-delta'`, [jobId]);
    await stage.rows('UPDATE job SET deltas_trimmed = true WHERE id = $1', [jobId]);
    const rounds = await stage.rows(
      `SELECT r.text, r.partial, j.content_length AS length FROM round r JOIN job j ON j.id = r.job_id
        WHERE r.job_id = $1 AND r.node_run IS NULL`,
      [jobId],
    );
    return { rounds, content: (await snapshot(jobId))?.content };
  };
  const untilAsked = { a: agent('First.'), wait: { type: 'approval', prompt: 'Ok?' } };

  it('stays readable without its event log after a failed run', async () => {
    stage.script('First.', textReply(['One.']));
    stage.script('Second.', errorReply(400));
    const edges = ['start -> a', 'start -> wait', 'wait -> b'];
    const jobId = await stage.run({ ...untilAsked, b: agent('Second.') }, edges);
    const asked = await eventually('it asks', async () => (await stage.waitsAt(jobId)).get('wait'));
    await stage.answer(asked, { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', content: 'One.' });
    expect((await stage.eventsOf(jobId)).at(-1)?.body).toMatchObject({ content_length: 4 });
    const rounds = [{ text: 'One.', partial: true, length: 4 }];
    expect(await keptOf(jobId)).toEqual({ rounds, content: 'One.' });
  });

  it('stays readable without its event log when the final output is too long', async () => {
    stage.script('First.', textReply(['One.']));
    const long = { ...output, template: `{{input}}${'x'.repeat(70_000)}` };
    const jobId = await stage.run({ a: agent('First.'), out: long }, ['start -> a', 'start -> out']);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'OUTPUT_LIMIT' } });
    const rounds = [{ text: 'One.', partial: true, length: 4 }];
    expect(await keptOf(jobId)).toEqual({ rounds, content: 'One.' });
  });

  it('stays readable without its event log when the handler throws', async () => {
    stage.script('First.', textReply(['One.']));
    const drive = jest.spyOn(WorkflowRunner.prototype, 'drive');
    drive.mockImplementationOnce(async function (this: WorkflowRunner) {
      await this.drive();
      throw new Error('broken');
    });
    const jobId = await stage.run({ a: agent('First.') }, ['start -> a']);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'internal' } });
    drive.mockRestore();
    expect(await keptOf(jobId)).toEqual({ rounds: [{ text: 'One.', partial: true, length: 4 }], content: 'One.' });
  });

  it('stays readable without its event log when a run is cancelled', async () => {
    const gate = createGate();
    stage.script('First.', textReply(['One.']));
    stage.script('Never second.', { ...textReply(['Two.']), before: gate });
    const jobId = await stage.run({ a: agent('First.'), b: agent('Never second.') }, ['start -> a', 'start -> b']);
    await eventually('the first has streamed its text', async () =>
      (await stage.statusesOf(jobId))['a'] === 'completed' ? true : undefined,
    );
    await eventually('the second one is at work', () => stage.requests('Never second.')[0]);
    await stage.stop(jobId);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'cancelled', content: 'One.' });
    gate.open();
    const rounds = [{ text: 'One.', partial: true, length: 4 }];
    expect(await keptOf(jobId)).toEqual({ rounds, content: 'One.' });
  });

  it('appears in a later chat of its thread without the texts of other nodes', async () => {
    const call = toolCallReply([{ id: 'c', name: 'look_up', arguments: '{"to":"x"}' }]);
    stage.script('Draft.', call, textReply(['A draft.']));
    stage.script('Finish.', textReply(['Finished.']));
    const nodes = { a: agent('Draft.', { tools: ['look_up'] }), b: agent('Finish.') };
    const jobId = await stage.run(nodes, ['start -> a', 'a -> b'], { thread: 'of a draft', prompt: 'Write.' });
    await stage.ended(jobId);
    stage.model.enqueue(textReply(['You are welcome.']));
    const thanks = { messages: [{ role: 'user', content: 'Thanks.' }] } as const;
    const chat = await stage.ask([], { ...thanks, threadRef: 'of a draft', createThread: false });
    await stage.ended(chat.jobId);
    expect(stage.model.requests.at(-1)?.json['messages']).toEqual([
      { role: 'user', content: 'Write.' },
      { role: 'assistant', content: 'Finished.' },
      { role: 'user', content: 'Thanks.' },
    ]);
  });

  it('appears once in the history of agents of later jobs', async () => {
    stage.script('Answer.', textReply(['Fine.']));
    const history = [
      { role: 'user', content: 'Hi.' },
      { role: 'assistant', content: 'Hello.' },
    ] as const;
    const jobId = await stage.run({ a: agent('Answer.') }, ['start -> a'], { prompt: 'How are you?', history });
    await stage.ended(jobId);
    expect(stage.asked('Answer.').at(-1)).toEqual([
      { role: 'system', content: 'Answer.\n\nContext from previous agents:\n[start]: How are you?' },
      ...history,
      { role: 'user', content: 'How are you?' },
    ]);
  });
});

describe('output node', () => {
  const nodes = (out: object) => ({ a: agent('Say A.'), b: agent('Say B.'), out: { ...output, ...out } });
  const edges = ['start -> a', 'start -> b', 'a -> out', 'b -> out'];
  const answers = () => {
    stage.script('Say A.', textReply(['A.']));
    stage.script('Say B.', textReply(['B.']));
  };

  it.each([
    ['all that came before', {}, 'Hello\n\nA.\n\nB.'],
    [
      'its sources, between an introduction and an end',
      { sources: ['b', 'a'], introText: 'In:', outroText: 'Out.' },
      'In:\n\nB.\n\nA.\n\nOut.',
    ],
    [
      'its template',
      { useRawTemplate: true, template: '{{a}} and {{ outputs.b }}, {{unknown}}' },
      'A. and B., {{unknown}}',
    ],
    ['JSON', { format: 'json', sources: ['a'] }, '{\n  "result": "A."\n}'],
  ])('returns %s', async (_, out, content) => {
    answers();
    expect(await stage.ended(await stage.run(nodes(out), edges))).toMatchObject({ status: 'completed', content });
  });

  it('lets a model combine its sources and streams the text', async () => {
    answers();
    stage.script('Write one text.', textReply(['Both', ' of them.']));
    const synthesis = {
      mode: 'synthesis',
      sources: ['a', 'b'],
      synthesis: { prompt: 'Write one text.', model: 'scripted' },
    };
    const jobId = await stage.run(nodes(synthesis), edges);
    expect(await stage.ended(jobId)).toMatchObject({ content: 'Both of them.', attempt: 0 });
    expect(stage.asked('Write one text.')[0]?.[1]?.content).toBe(
      '--- Output from a ---\nA.\n\n--- Output from b ---\nB.',
    );
    expect(
      (await stage.eventsOf(jobId, 'text-delta'))
        .filter(({ body }) => 'offset' in body)
        .map(({ body }) => body['nodeId']),
    ).toEqual(['out']);
  });

  it('returns the path that led to it', async () => {
    answers();
    const { content } = await stage.ended(await stage.run(nodes({ sources: ['a'], includeMetadata: true }), edges));
    expect(content).toMatch(/^\[Executed: start → a → b\]\n\[Time: [\dT:.-]+Z\]\s+A\.$/);
  });
});

describe('events of a workflow job', () => {
  it('describe a small run in order', async () => {
    stage.script('Answer.', textReply(['Fine.']));
    const jobId = await stage.run({ a: agent('Answer.'), out: { ...output, sources: ['a'] } }, [
      'start -> a',
      'a -> out',
    ]);
    await stage.ended(jobId);
    const events = await stage.eventsOf(jobId);
    const place = (nodeId: string, type: string, ordinal: number) => ({
      ...{ nodeRunId: `${jobId}:${ordinal}`, nodeId, label: nodeId, type, path: [] },
    });
    const usage = { promptTokens: 11, completionTokens: 7, totalTokens: 18 };
    expect(events.map(({ type, body }) => [type, body])).toEqual([
      ['job-queued', expect.objectContaining({ kind: 'workflow' })],
      ['job-started', expect.objectContaining({ epoch: 1 })],
      ['node-started', place('start', 'start', 1)],
      ['node-finished', { ...place('start', 'start', 1), status: 'completed', output: 'Hello' }],
      ['node-started', place('a', 'agent', 2)],
      ['round-started', { round: 1, model: 'scripted', nodeId: 'a' }],
      ['text-delta', { round: 1, nodeId: 'a', text: 'Fine.' }],
      ['round-finished', expect.objectContaining({ round: 1, finishReason: 'stop', usage })],
      ['node-finished', { ...place('a', 'agent', 2), status: 'completed', output: 'Fine.', tokenCount: 18 }],
      ['node-started', place('out', 'output', 3)],
      ['node-finished', { ...place('out', 'output', 3), status: 'completed', output: 'Fine.' }],
      ['text-delta', { round: 2, offset: 0, text: 'Fine.' }],
      ['job-finished', expect.objectContaining({ status: 'completed', content_length: 5, usage })],
    ]);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
  });

  it('report each node run once for a job that waits repeatedly', async () => {
    const nodes = { ok: { type: 'approval', prompt: 'Ok?' }, too: { type: 'approval', prompt: 'And this?' } };
    const jobId = await stage.run(nodes, ['start -> ok', 'ok -> too']);
    for (const node of ['ok', 'too']) {
      const asked = await eventually(`${node} asks`, async () => (await stage.waitsAt(jobId)).get(node));
      await stage.answer(asked, { action: 'approve' });
    }
    await stage.ended(jobId);
    const nodeEvents = (await stage.eventsOf(jobId, 'node-started', 'node-finished')).map(
      ({ type, body }) => `${type} ${String(body['nodeId'])}`,
    );
    expect(nodeEvents).toEqual([
      ...['node-started start', 'node-finished start', 'node-started ok', 'node-finished ok'],
      ...['node-started too', 'node-finished too'],
    ]);
  });
});
