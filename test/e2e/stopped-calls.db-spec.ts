import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { scopeOf } from '#auth';
import { JobStopper } from '#jobs';
import { defineTool, type ToolEffect, ToolRegistry } from '#tools';

import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { eventually } from '../harness/eventually.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: ApprovalStage;
const begun: string[] = [];

beforeAll(async () => {
  stage = await openApprovalStage();
  for (const effect of ['pure', 'idempotent', 'once'] as const)
    stage.engine.app.get(ToolRegistry).register(slow(effect));
  await stage.policy({ rules: [{ match: 'send', action: 'require_approval' }] });
});
afterEach(() => {
  begun.length = 0;
  stage.ran.length = 0;
  stage.model.assertDone();
});
afterAll(async () => {
  await stage.close();
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
  await eventually('the tools run', () => (begun.length === running && stage.ran.length === quick ? true : undefined));
  expect(await stage.engine.app.get(JobStopper).stop(scopeOf(stage.people.member), jobId)).toBe('aborted');
  const { status, calls } = await stage.ended(jobId);
  const open = await stage.rows(`SELECT 1 FROM interrupt WHERE job_id = $1 AND status = 'open'`, [jobId]);
  return { threadId, status, open, ends: Object.fromEntries(calls.map(({ name, status: end }) => [name, end])) };
};

describe('cancelled job with running calls', () => {
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
