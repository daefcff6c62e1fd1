import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

/** Denies or answers a call, or asks for approval, by its recipient. */
const plugin = `import { defineHook, definePlugin } from '@nightshift/plugin';
export default definePlugin({ name: 'guards', version: '1', hooks: [defineHook({
  on: 'beforeToolCall', name: 'guard',
  run({ arguments: { to }, approval }) {
    if (to === 'denied') return { deny: 'approval ' + approval };
    if (to === 'answered') return { result: 'approval ' + approval };
    if (to === 'asked') return { requireApproval: 'approval ' + approval };
  },
})] });
`;

let folder: string;
let stage: ApprovalStage;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-hooked-grants-'));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(join(process.cwd(), 'node_modules', '@nightshift'), join(folder, 'node_modules', '@nightshift'));
  writeFileSync(join(folder, 'guards.mjs'), plugin);
  stage = await openApprovalStage({ PLUGINS: join(folder, 'guards.mjs'), FEATURE_SUB_JOBS: 'true' });
  await stage.policy({ rules: [{ match: '*', action: 'require_approval' }] });
});
afterAll(async () => {
  await stage.close();
  rmSync(folder, { recursive: true, force: true });
});

const send = (to: string) => toolCallReply([{ id: 'call_a', name: 'send', arguments: JSON.stringify({ to }) }]);

/** Calls the tool in a thread with a grant. */
const sendGranted = async (threadRef: string, to: string) => {
  stage.model.enqueue(send(to), textReply(['Again.']));
  return (await stage.ask(['send'], { threadRef, createThread: false })).jobId;
};

/** The jobs that have used a grant. */
const uses = async () => {
  const { postgres } = stage.database;
  const { rows } = await postgres.withWorkspaceSql(stage.people.owner.workspaceId, (client) =>
    client.query<{ job: string }>(
      `SELECT details->>'jobId' AS job FROM audit_entry WHERE action = 'approval-grant-used'`,
    ),
  );
  return rows.map(({ job }) => job);
};

describe('a timed grant with a hook before tool calls', () => {
  it('counts a use for a call that runs, and none for one that the hook denies, answers or sends to a person', async () => {
    stage.model.enqueue(send('first'), textReply(['Done.']));
    const { jobId, threadId } = await stage.ask(['send']);
    const [interrupt] = await stage.waits(jobId);
    if (interrupt === undefined) throw new Error('nothing is asked');
    const { argumentsHash } = interrupt.request;
    await stage.decide(stage.people.member, interrupt, { decision: 'approve', argumentsHash, grantMinutes: 5 });
    await stage.ended(jobId);
    for (const to of ['denied', 'answered']) {
      const job = await stage.ended(await sendGranted(threadId, to));
      expect(JSON.stringify(job.calls)).toContain('approval approved');
    }
    const asked = await sendGranted(threadId, 'asked');
    const [request] = await stage.waits(asked);
    if (request === undefined) throw new Error('nothing is asked');
    await stage.decide(stage.people.member, request, { decision: 'deny' });
    await stage.ended(asked);
    expect(await uses()).toEqual([]);
    const ran = await sendGranted(threadId, 'second');
    expect(await stage.ended(ran)).toMatchObject({ calls: [{ status: 'completed' }] });
    expect(await uses()).toEqual([ran]);
    expect(stage.ran.map(([, args]) => args)).toEqual([{ to: 'first' }, { to: 'second' }]);
  });

  it('counts no use for a start_job whose job may call the tool', async () => {
    await stage.policy({ rules: [{ match: 'send', action: 'require_approval' }] });
    stage.model.enqueue(send('third'), textReply(['Done.']));
    const { jobId, threadId } = await stage.ask(['send']);
    const [interrupt] = await stage.waits(jobId);
    if (interrupt === undefined) throw new Error('nothing is asked');
    const { argumentsHash } = interrupt.request;
    await stage.decide(stage.people.member, interrupt, { decision: 'approve', argumentsHash, grantMinutes: 5 });
    await stage.ended(jobId);
    const before = await uses();
    const given = { workspace: stage.people.owner.workspaceId, model: 'scripted', prompt: 'Look' };
    const start = toolCallReply([{ id: 'call_b', name: 'start_job', arguments: JSON.stringify(given) }]);
    stage.model.enqueue(start, textReply(['Ended.']), textReply(['Ended.']));
    const parent = await stage.ask(['send', 'start_job'], { threadRef: threadId, createThread: false });
    expect(await stage.ended(parent.jobId)).toMatchObject({ calls: [{ status: 'completed' }] });
    expect(await uses()).toEqual(before);
  });
});
