import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { type NightshiftProcess, startProcess } from '../harness/processes.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { Decider } from './decider.js';
import { remoteInput } from './remote-tools.js';
import { ToolLedger } from './tool-ledger.js';

/** Longer than every test of this file, so that no lease expires. */
const LEASE_MS = '3600000';

/** Api, worker, tools and Postgres in one process on one folder, as `npm start` makes it. */
describe('installation restart after a kill', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nightshift-chaos-'));
  let model: ScriptedModel;
  let ledger: ToolLedger;
  let running: NightshiftProcess | undefined;

  beforeAll(async () => {
    [model, ledger] = await Promise.all([ScriptedModel.start(), ToolLedger.start()]);
    await start();
  });

  afterAll(async () => {
    await running?.stop();
    await Promise.all([model.close(), ledger.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  const start = async (env: Readonly<Record<string, string>> = {}) => {
    running = await startProcess({
      role: 'all',
      entry: 'test/chaos/chaos-process.main.js',
      flags: ['--data-dir', join(folder, 'data')],
      env: { MODEL_BASE_URL: model.url, MODEL_NAME: 'scripted', LEASE_MS, CHAOS_TOOLS_URL: ledger.url, ...env },
    });
  };
  const killAndStart = async (env: Readonly<Record<string, string>> = {}) => {
    running?.kill('SIGKILL');
    expect((await running?.exited)?.signal).toBe('SIGKILL');
    await start(env);
  };
  const client = () =>
    new Decider({ url: running?.url ?? null }, readFileSync(join(folder, 'data', 'demo-api-key'), 'utf8').trim());
  const ask = async (name: string, tool?: string) => {
    const definition = { type: 'function', function: { name: tool, description: tool, parameters: remoteInput } };
    const { body } = await client().call('/api/jobs', {
      ...{ _threadId: name, _messageId: `answer to ${name}`, admissionId: encodeURI(name) },
      messages: [{ role: 'user', content: name }],
      ...(tool === undefined ? {} : { tools: [definition] }),
    });
    return String(body['jobId']);
  };
  const statusOf = async (jobId: string) => (await client().call(`/api/jobs/${jobId}/status`)).body;
  const ended = (jobId: string) =>
    eventually('the job has ended', async () => {
      const status = await statusOf(jobId);
      return typeof status['completedAt'] === 'number' ? status : undefined;
    });
  const keysOf = (jobId: string) => ledger.calls.map(({ key }) => key).filter((key) => key.startsWith(jobId));
  const effectsOf = (jobId: string) => ledger.effects.filter(({ key }) => key.startsWith(jobId));
  const calling = (tool: string, reply: string) => {
    model.enqueue(toolCallReply([{ id: 'call_1', name: tool, arguments: '{}' }]), textReply([reply]));
  };

  it('requests a response again that was interrupted, and keeps no part of the lost round', async () => {
    const gate = createGate();
    model.enqueue({ body: [textChunk('Half a'), gate] }, textReply(['A whole sentence.']));
    const jobId = await ask('speak');
    await eventually('some of it is shown', async () =>
      Number((await statusOf(jobId))['content_length']) > 0 ? true : undefined,
    );
    await killAndStart();
    gate.open();
    expect(await ended(jobId)).toMatchObject({ status: 'complete', content: 'A whole sentence.' });
  });

  it('runs a job that was accepted and not begun, and the same request returns that job', async () => {
    await killAndStart({ CRASH_POINT: 'after-own-start:kill' });
    await expect(ask('speak again')).rejects.toThrow('fetch failed');
    model.enqueue(textReply(['Sent once.']));
    await killAndStart();
    expect(await ended(await ask('speak again'))).toMatchObject({ status: 'complete', content: 'Sent once.' });
    expect(model.requests.filter(({ body }) => body.includes('speak again'))).toHaveLength(1);
  });

  it.each(['charge', 'refund'])('repeats %s with the same key, and its effect happens once', async (tool) => {
    const gate = ledger.holdNext();
    calling(tool, 'Paid.');
    const before = ledger.calls.length;
    const jobId = await ask(`pay by ${tool}`, tool);
    await ledger.called(before + 1);
    await killAndStart();
    expect(await ended(jobId)).toMatchObject({ status: 'complete', content: 'Paid.' });
    gate.open();
    expect(keysOf(jobId)).toEqual([`${jobId}:1:1`, `${jobId}:1:1`]);
    expect(effectsOf(jobId)).toHaveLength(1);
  });

  it.each(['post_note', 'send_alert'])('does not repeat %s, which may run once', async (tool) => {
    const gate = ledger.holdNext();
    calling(tool, 'I do not know.');
    const before = ledger.calls.length;
    const jobId = await ask(`do ${tool}`, tool);
    await ledger.called(before + 1);
    await killAndStart();
    expect(await ended(jobId)).toMatchObject({ status: 'complete', content: 'I do not know.' });
    gate.open();
    expect(keysOf(jobId)).toHaveLength(1);
    expect(JSON.stringify(model.requests.at(-1)?.json['messages'])).toContain('its outcome is unknown');
  });
});
