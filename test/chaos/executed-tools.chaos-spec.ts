import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { AgentsService } from '#chat';

import {
  type CompletionReply,
  type CompletionsClient,
  completionsClient,
  type OpenCompletion,
} from '../harness/openai-client.js';
import type { NightshiftProcess } from '../harness/processes.js';
import { isOnce, type RemoteToolName } from './remote-tools.js';
import { Stage } from './stage.js';
import { secretive, unreachable } from './tool-ledger.js';

const failure = (reason: string) => ({
  error: { message: `Tool execution failed: ${reason}`, type: 'server_error', param: null, code: null },
});
/** How a story ends. */
const gives = (result: string) => [200, { tool_call_id: expect.any(String), result }] as const;
const fails = (reason: string) => [500, failure(reason)] as const;
const unknown = fails('outcome unknown');

describe('POST /v1/tools/execute with killed processes', () => {
  let stage: Stage;
  let key: string;
  let api: NightshiftProcess;
  let worker: NightshiftProcess;

  const stories = {
    pure: ['look_up', 'ada', gives('look_up done')],
    repeatable: ['charge', 'ada', gives('charge done')],
    asked: ['send_letter', 'ada', unknown],
    reported: ['post_note', 'ada', unknown],
    failed: ['wire_money', 'ada', unknown],
    verified: ['book_table', 'ada', gives('book_table was done')],
    verifiedNot: ['book_table', unreachable, fails('it was started and did not happen')],
    unsure: ['book_table', secretive, unknown],
  } as const satisfies Record<string, readonly [tool: RemoteToolName, to: string, end: readonly [number, object]]>;
  type Story = keyof typeof stories;
  const names = Object.keys(stories) as Story[]; // of the table above

  beforeAll(async () => {
    stage = await Stage.open();
    await stage.engine.app.get(AgentsService).create(stage.owner, { name: 'Clerk', tools: ['*'] });
    key = await stage.createKey();
    [api, worker] = await Promise.all([stage.startApiWithTools(), stage.startWorker()]);
  });
  afterAll(() => stage.close());

  const clientOf = ({ url }: NightshiftProcess): CompletionsClient =>
    completionsClient(url ?? '', key, '/v1/tools/execute');
  const begin = (at: NightshiftProcess, story: Story, run: string): OpenCompletion => {
    const [tool, to] = stories[story];
    const headers = { 'idempotency-key': `${run}-${story}` };
    return clientOf(at).open({ agent: 'clerk', tool_name: tool, arguments: { to } }, headers);
  };
  const jobOf = ({ headers }: CompletionReply) => String(headers['x-job-id']);
  /** Checks that each completion ended as its entry in `stories` describes; returns the replies. */
  const endsOf = async (open: readonly OpenCompletion[]) => {
    const replies = await Promise.all(open.map(({ over }) => over));
    for (const [i, { status, json }] of replies.entries())
      expect([names[i], status, json]).toEqual([names[i], ...stories[names[i] ?? 'pure'][2]]);
    return replies;
  };
  const assertEffects = (replies: readonly CompletionReply[]) => {
    for (const [i, reply] of replies.entries()) {
      const name = names[i] ?? 'pure';
      const calls = stage.ledger.calls.filter((call) => call.key.startsWith(jobOf(reply)));
      expect([name, [...new Set(calls.map((call) => call.key))]]).toEqual([name, [`${jobOf(reply)}:1:1`]]);
      const [tool] = stories[name];
      expect([name, calls.length]).toEqual([name, isOnce(tool) ? 1 : 2]);
      const done = stage.ledger.effects.filter((effect) => effect.key.startsWith(jobOf(reply)));
      expect([name, done.length]).toEqual([name, name === 'pure' || name === 'verifiedNot' ? 0 : 1]);
    }
  };
  /** Resolves once all stories run. */
  const allBegun = async (run: string) => {
    const before = stage.ledger.calls.length;
    const gate = stage.ledger.holdAll();
    const open = names.map((story) => begin(api, story, run));
    await stage.ledger.called(before + names.length);
    return { open, gate };
  };

  it('repeats safe calls of a killed worker and reports the others as unknown', async () => {
    const { open, gate } = await allBegun('worker');
    worker.kill('SIGKILL');
    await worker.exited;
    gate.open();
    worker = await stage.startWorker();
    const replies = await endsOf(open);
    assertEffects(replies);
    const again = await endsOf(names.map((story) => begin(api, story, 'worker')));
    expect(again.map(jobOf)).toEqual(replies.map(jobOf));
    assertEffects(again);
  });

  it('returns the decision of a person about an unknown outcome under the same idempotency key', async () => {
    const { over } = begin(api, 'asked', 'worker');
    const [interrupt] = await stage.waits(jobOf(await over));
    if (interrupt === undefined) throw new Error('no person is asked');
    await stage.answer(interrupt, { decision: 'happened', result: 'It is in the box.' });
    await stage.watch(jobOf(await over)).ended;
    expect((await begin(api, 'asked', 'worker').over).json).toMatchObject({ result: 'It is in the box.' });
  });

  it('continues the call of a killed API process, and another process returns its result by the key', async () => {
    const before = stage.ledger.calls.length;
    const gate = stage.ledger.holdNext();
    const other = await stage.startApiWithTools();
    const lost = begin(other, 'asked', 'api');
    await stage.ledger.called(before + 1);
    other.kill('SIGKILL');
    await other.exited;
    await expect(lost.begun).rejects.toThrow();
    const again = begin(api, 'asked', 'api');
    gate.open();
    const { status, json } = await again.over;
    expect([status, json]).toMatchObject([200, { result: 'send_letter done' }]);
    expect(stage.ledger.calls).toHaveLength(before + 1);
  });

  it('returns the results by their keys after all processes were killed', async () => {
    const { open, gate } = await allBegun('all');
    await stage.killAll();
    await Promise.all(open.map(({ begun }) => expect(begun).rejects.toThrow()));
    gate.open();
    [api, worker] = await Promise.all([stage.startApiWithTools(), stage.startWorker()]);
    const replies = await endsOf(names.map((story) => begin(api, story, 'all')));
    assertEffects(replies);
  });
});
