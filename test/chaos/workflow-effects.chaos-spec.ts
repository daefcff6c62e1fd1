import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { type HttpTarget, startHttpTarget } from '../harness/http-target.js';
import { createGate, type Gate } from '../harness/scripted-reply.js';
import type { SketchedNode } from '../harness/workflows.js';
import { type Ends, leftWithLoss, type Losses, LostStories } from './lost-stories.js';
import { agent, NodeScripts, say } from './node-scripts.js';
import { Stage } from './stage.js';
import { askedAt, type Left, output } from './workflow-stories.js';

const privateHosts = { ALLOW_PRIVATE_TOOL_URLS: 'true' };

describe('workflows whose worker dies during a side effect', () => {
  let stage: Stage;
  let target: HttpTarget;
  let gate: Gate | undefined;
  let losses: Losses;
  let calm: Ends;
  let lost: Ends;

  const decides = async (viewer: Parameters<typeof askedAt>[1], answer: object) => {
    const asked = await askedAt(stage, viewer, 'a');
    expect(asked).toMatchObject({ kind: 'unknown_outcome', tool: 'send_letter' });
    await stage.answer(asked, answer);
  };
  const only = (a: SketchedNode) => ({
    nodes: { a, out: { ...output, template: 'Got: {{input}}' } },
    edges: ['start -> a', 'a -> out'],
  });
  const tool = (toolId: string): SketchedNode => ({ type: 'tool', toolId, config: { to: 'ada' } });
  const asks = (what: string) => () => eventually(`${what} is asked for`, () => (isHeld(what) ? true : undefined));
  // Once in peace, and once more.
  const isHeld = (path: string) => target.requests.filter((request) => request.path === path).length >= 2;
  const withRequest = (outcome: string) => (left: Left) => ({
    ...left,
    requests: [{ node: 'a', kind: 'unknown_outcome', status: 'resolved', outcome }],
  });
  const toLosses = () =>
    ({
      look_up: { ...only(tool('look_up')), calls: 1 },
      charge: { ...only(tool('charge')), calls: 1 },
      'send_letter, which a person confirms as sent,': {
        ...{ ...only(tool('send_letter')), calls: 1, but: withRequest('happened') },
        afterwards: (viewer) => decides(viewer, { decision: 'happened', result: 'send_letter done' }),
      },
      'send_letter, which a person has repeated,': {
        ...{ ...only(tool('send_letter')), calls: 1, but: withRequest('repeat') },
        afterwards: (viewer) => decides(viewer, { decision: 'repeat' }),
      },
      book_table: {
        ...{ ...only(tool('book_table')), calls: 1 },
        but: (left) =>
          JSON.parse(JSON.stringify(left).replaceAll('book_table done', 'book_table was done')) as typeof left, // a copy
      },
      refund: { ...only(tool('refund')), calls: 1 },
      post_note: {
        nodes: { a: { ...tool('post_note'), errorHandling: { mode: 'branch' } }, bad: output, out: output },
        edges: ['start -> a', 'a.output -> out', 'a.error -> bad'],
        calls: 1,
      },
      wire_money: { ...only(tool('wire_money')), calls: 1 },
      get: { ...only({ type: 'http', url: `${target.url}/get`, select: '$.path' }), before: asks('/get') },
      post: {
        ...only({
          type: 'http',
          method: 'POST',
          url: `${target.url}/post`,
          body: { to: '{{input}}' },
          select: '$.path',
        }),
        before: asks('/post'),
      },
      'memory beside an agent': {
        nodes: {
          keep: { type: 'memory', operation: 'store', text: 'Noted: {{input}}' },
          a: agent('beside memory'),
          find: { type: 'memory', operation: 'query', filter: { nodeId: 'unknown' } },
          out: output,
        },
        edges: ['start -> keep', 'start -> a', 'keep -> find', 'a -> find', 'find -> out'],
        unheard: ['beside memory 1'],
      },
    }) satisfies Losses;

  beforeAll(async () => {
    stage = await Stage.open(undefined, privateHosts);
    target = await startHttpTarget(({ path }, response) => {
      void Promise.resolve(gate?.opened).then(() => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ path }));
      });
    });
    const scripts = new NodeScripts(stage.model);
    scripts.script('beside memory', say('Beside it.'));
    await stage.startTools();
    losses = toLosses();
    const hold = () => (gate = createGate());
    ({ calm, lost } = await new LostStories(stage, scripts, losses).run(hold, privateHosts));
  });

  afterAll(async () => {
    await stage.close();
    await target.close();
  });

  const callsOf = (name: string) =>
    stage.ledger.calls.filter(({ key }) => key.startsWith(lost.viewers[name]?.jobId ?? '')).map(({ key }) => key);
  const keyOf = (name: string) => `${lost.viewers[name]?.jobId ?? ''}:1:1`;

  it.each([
    ...['look_up', 'charge', 'send_letter, which a person confirms as sent,'],
    ...['send_letter, which a person has repeated,', 'book_table', 'refund', 'get', 'post', 'memory beside an agent'],
  ])('end with the same outcome as without a kill: %s', (name) => {
    expect(lost.left[name]).toEqual(leftWithLoss(losses[name] ?? { nodes: {}, edges: [] }, calm.left[name]));
  });

  // Neither call is known when the second one begins, so that has a key of its own.
  it('call the pure tool look_up twice after a kill', () => {
    expect(callsOf('look_up')).toHaveLength(2);
  });

  it.each([
    ['charge', 2],
    ['send_letter, which a person confirms as sent,', 1],
    ['send_letter, which a person has repeated,', 2],
    ['book_table', 1],
    ['refund', 1],
    ['post_note', 1],
    ['wire_money', 1],
  ])('call %s %i times in all, with one key', (name, times) => {
    expect(callsOf(name)).toEqual(Array.from({ length: times }, () => keyOf(name)));
  });

  it('fail the node of a call with an unknown outcome, and continue at its error edge', () => {
    expect(lost.left['post_note']).toMatchObject({
      status: 'completed',
      calls: [{ status: 'interrupted' }],
      runs: [
        { node: 'a', status: 'error' },
        { node: 'bad', status: 'completed' },
        { node: 'out', status: 'skipped' },
        {},
      ],
    });
  });

  it('fail the job when the tool requires it', () => {
    expect(lost.left['wire_money']).toMatchObject({ status: 'failed', calls: [{ status: 'interrupted' }] });
  });

  it('repeat an HTTP request with the same idempotency key', () => {
    const keys = target.requests
      .filter(({ path }) => path === '/post')
      .map(({ headers }) => headers['idempotency-key']);
    // In peace, then twice.
    const [before, ...after] = keys;
    expect(after).toEqual(Array(2).fill(`${lost.viewers['post']?.jobId ?? ''}:2`));
    expect(before).toBe(`${calm.viewers['post']?.jobId ?? ''}:2`);
  });

  it('deliver the events 1 to N to every viewer', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
