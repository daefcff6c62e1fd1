import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { codeBlocks } from '../harness/code-blocks.js';
import { documentExample } from '../harness/document-example.js';
import { eventually } from '../harness/eventually.js';
import { connect } from '../harness/graphql.js';
import { MailServer } from '../harness/mail-server.js';
import { type NightshiftProcess, startProcess } from '../harness/processes.js';

const run = promisify(execFile);
const root = process.cwd();

/** An open approval, as the list shows it. */
interface Asked {
  readonly id: string;
  readonly title: string;
  readonly decidableBy: string;
  readonly request: { readonly reason: string; readonly argumentsPreview: string; readonly argumentsHash: string };
}

describe('examples of the pages', () => {
  let started: NightshiftProcess;
  let folder: string;
  let mails: MailServer;
  let key: string;

  beforeAll(async () => {
    mails = await MailServer.listen();
    folder = mkdtempSync(join(tmpdir(), 'nightshift-docs-'));
    started = await startProcess({
      role: 'all',
      flags: ['--data-dir', join(folder, 'data')],
      env: {
        ALLOW_PRIVATE_TOOL_URLS: 'true', // the examples ask this very server
        ...mails.env,
        PUBLIC_URL: 'http://nightshift.test',
        NOTIFICATION_URL: 'https://app.example.com/jobs/{rootJobId}?request={requestId}',
      },
    });
    key = readFileSync(join(folder, 'data', 'demo-api-key'), 'utf8').trim();
  });

  afterAll(async () => {
    await started.stop();
    await mails.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const here = (text: string) =>
    text
      .replaceAll('http://127.0.0.1:4000', started.url ?? '')
      .replaceAll('.nightshift/demo-api-key', join(folder, 'data', 'demo-api-key'));

  const surroundings = () => ({
    PATH: process.env['PATH'],
    NIGHTSHIFT_URL: started.url ?? '',
    NIGHTSHIFT_KEY: key,
  });

  const inShell = async (script: string, env: Record<string, string> = {}) =>
    (await run('bash', ['-c', here(script)], { cwd: root, env: { ...surroundings(), ...env } })).stdout;

  const headers = () => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });

  const answerTo = async (query: string, variables: object = {}) => {
    const body = JSON.stringify({ query, variables });
    return (await fetch(`${started.url ?? ''}/graphql`, { method: 'POST', headers: headers(), body })).json();
  };

  it('start a job over GraphQL and follow it from any number', async () => {
    const reply = JSON.parse(await inShell(documentExample('README.md', 'start-job'))) as {
      data: { startChat: { jobId: string } }; // what the example asks for
    };
    const { jobId } = reply.data.startChat;
    const cache = join(root, 'node_modules', '.cache'); // from here graphql-ws is found
    mkdirSync(cache, { recursive: true });
    const file = join(cache, `follow-${process.pid}.mjs`);
    writeFileSync(file, documentExample('README.md', 'follow-job'));
    const command = [file, jobId] as const;
    const follow = async (after: string) => {
      const { stdout } = await run(process.execPath, [...command, after], { cwd: root, env: surroundings() });
      const lines = stdout.trim().split('\n');
      return lines.map((line) => JSON.parse(line) as { __typename: string; seq: number }); // as the example prints them
    };
    const all = await follow('0');
    const rest = await follow('5');
    const stranger = run(process.execPath, command, { env: { ...surroundings(), NIGHTSHIFT_KEY: 'nsk_wrong' } });
    await expect(stranger).rejects.toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringMatching(/^The stream ended: 4401 .*\nFollow the rest: node follow.mjs [\da-f-]{36} 0\n$/),
    });
    rmSync(file);

    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1));
    expect(all.at(-1)).toMatchObject({ __typename: 'JobFinishedEvent', status: 'COMPLETED' });
    expect(rest.map(({ seq }) => seq)).toEqual(all.slice(5).map(({ seq }) => seq));
  });

  it('run a tool of the client', async () => {
    const file = join(folder, 'serve-client-tools.mts');
    writeFileSync(file, documentExample('docs/client-tools.md', 'serve-client-tools'));
    const { stdout } = await run(process.execPath, [file], { cwd: root, env: surroundings() });
    expect(stdout).toContain('6 words');
  });

  it('define, test and save an HTTP tool', async () => {
    const file = join(folder, 'http-tool.mts');
    writeFileSync(file, documentExample('docs/tools.md', 'http-tool'));
    const { stdout } = await run(process.execPath, [file], { cwd: root, env: surroundings() });
    expect(stdout).toMatch(/status: 200,[^]*result: '(queued|running|completed)'[^]*name: 'job_status',\s+version: 1/);
  });

  it('save a trigger, send it a signed request, try it and publish a change', async () => {
    const saved = (await answerTo(documentExample('docs/triggers.md', 'save'))) as {
      data: { saveTrigger: { trigger: { id: string } } };
    };
    expect(saved).toMatchObject({ data: { saveTrigger: { userErrors: [], trigger: { id: expect.any(String) } } } });
    const { id } = saved.data.saveTrigger.trigger;
    expect(await inShell(documentExample('docs/triggers.md', 'send'), { TRIGGER_ID: id })).toBe('OK');
    const trigger = await eventually('the trigger has started a job', async () => {
      const { data } = (await answerTo(documentExample('docs/triggers.md', 'runs'), { id })) as {
        data: { trigger: { runs: readonly { jobId: string | null }[] } };
      };
      return data.trigger.runs.some(({ jobId }) => jobId !== null) ? data.trigger : undefined;
    });
    expect(trigger).toMatchObject({ fired: 1, failed: 0, lastError: null, runs: [{ error: null }] });
    const input = { prompt: 'Triage this issue: It breaks', thread: 'issue-7' };
    expect(await answerTo(documentExample('docs/triggers.md', 'try'))).toEqual({
      data: { testTrigger: [{ fires: true, problem: null, input }] },
    });
    const published = await inShell(documentExample('docs/triggers.md', 'publish'));
    expect(JSON.parse(published)).toEqual({ accepted: 1, duplicates: 0 });
    expect(JSON.parse(await inShell(documentExample('docs/triggers.md', 'publish')))).toEqual({
      accepted: 0,
      duplicates: 1,
    });
  });

  it('schedule a chat', async () => {
    expect(await answerTo(documentExample('docs/triggers.md', 'chat-schedule'))).toMatchObject({
      data: { saveChatSchedule: { schedule: { nextSlots: [{}, {}] }, userErrors: [] } },
    });
    expect(await answerTo(documentExample('docs/triggers.md', 'chat-schedules'))).toMatchObject({
      data: { chatSchedules: { nodes: [{ name: 'morning-news', nextSlots: [{}], slots: [] }] } },
    });
  });

  it('start a chat later', async () => {
    const startAt = new Date(Date.now() + 86_400_000).toISOString();
    expect(await answerTo(documentExample('docs/clients.md', 'start-later'), { startAt })).toMatchObject({
      data: { startChat: { job: { status: 'QUEUED', startAt }, userErrors: [] } },
    });
  });

  it('upload a file, list it and download it', async () => {
    const uploaded = JSON.parse(await inShell(documentExample('docs/files.md', 'upload'))) as { hash: string };
    expect(uploaded).toMatchObject({ mime: 'text/plain', bytes: 18, name: 'invoice.txt' });
    expect(await inShell(documentExample('docs/files.md', 'download'))).toBe('Total due: 42 EUR\n');
    expect(await answerTo(documentExample('docs/files.md', 'attach'), { hash: uploaded.hash })).toMatchObject({
      data: { startChat: { jobId: expect.any(String), userErrors: [] } },
    });
    expect(await answerTo(documentExample('docs/files.md', 'list'))).toMatchObject({
      data: { files: { nodes: [{ hash: uploaded.hash, name: 'invoice.txt' }] } },
    });
  });

  it('create, publish and run a workflow repeatedly', async () => {
    const file = join(folder, 'workflow.mts');
    writeFileSync(file, documentExample('docs/workflows.md', 'workflow'));
    // The second time it is there already.
    for (let time = 1; time <= 2; time += 1) {
      const { stdout } = await run(process.execPath, [file], { cwd: root, env: surroundings() });
      expect(stdout).toMatch(
        /^1 start COMPLETED: What is 2 \^ 10\?\n2 writer COMPLETED: .*1024.*\n3 end COMPLETED: .*1024.*\nflowchart TD/s,
      );
    }
  });

  it('schedule a workflow and offer it as a tool', async () => {
    expect(await answerTo(documentExample('docs/workflows.md', 'schedule'))).toMatchObject({
      data: { saveWorkflowSchedule: { schedule: { nextSlots: [{}, {}, {}] }, userErrors: [] } },
    });
    expect(await answerTo(documentExample('docs/workflows.md', 'offer'))).toMatchObject({
      data: { offerWorkflowAsTool: { workflow: { offeredAsTool: true }, userErrors: [] } },
    });
  });

  it('rerun an ended workflow from a node', async () => {
    const { data } = (await answerTo(
      '{ jobs(filter: { kind: { eq: WORKFLOW }, status: { eq: COMPLETED } }, first: 1) { nodes { id } } }',
    )) as { data: { jobs: { nodes: { id: string }[] } } }; // the query selects this field
    const JOB_ID = data.jobs.nodes[0]?.id ?? '';
    const reply = JSON.parse(await inShell(documentExample('docs/workflows.md', 'rerun'), { JOB_ID })) as {
      data: { rerunFromNode: { jobId: string } }; // what the example asks for
    };
    await eventually('the other answer', async () => {
      const { data: rerun } = (await answerTo(`{ job(id: "${reply.data.rerunFromNode.jobId}") { content } }`)) as {
        data: { job: { content: string } }; // the query selects this field
      };
      return rerun.job.content.includes('2048') || undefined;
    });
  });

  it('write a tool in code', async () => {
    const file = join(root, 'dist', `example-tool-${process.pid}.mts`); // from here `#tools` is found
    const call = 'console.log(await rollDice.handler({ sides: 2 }, { signal: new AbortController().signal }));';
    writeFileSync(file, `${documentExample('docs/tools.md', 'code-tool')}\n${call}\n`);
    const { stdout } = await run(process.execPath, [file], { cwd: root });
    rmSync(file);
    expect(stdout).toMatch(/^[12]\n$/);
  });

  it('start a job over REST and follow it', async () => {
    const [start, follow] = ['rest-start', 'rest-follow'].map((name) => documentExample('docs/clients.md', name));
    const output = await inShell(`${start ?? ''}\n${follow ?? ''}`);

    const stream = output.slice(output.indexOf('event: snapshot')); // of a job that may be over when the shell comes to it
    expect(stream).toMatch(/event: job-finished|^data: .*"status":"complete"/m);
    expect(stream).toContain('1024');
    expect(stream).toContain('This job has already ended');
  });

  it('let a model ask a person and answer the question', async () => {
    const example = (name: string, env: Record<string, string> = {}) =>
      inShell(documentExample('docs/interrupts.md', name), env);
    const reply = JSON.parse(await example('ask')) as { data: { startChat: { jobId: string } } };
    const { jobId: JOB_ID } = reply.data.startChat;
    const REQUEST_ID = await eventually('the question is open', async () => {
      const { interrupts } = JSON.parse(await example('inbox', { JOB_ID })) as { interrupts: { id: string }[] };
      return interrupts[0]?.id;
    });
    expect(JSON.parse(await example('answer', { REQUEST_ID }))).toMatchObject({
      status: 'resolved',
      outcome: 'submit',
    });
  });

  it('list an unread notification of a job that ended without viewers, until it is read', async () => {
    const example = (name: string, env: Record<string, string> = {}) =>
      inShell(documentExample('docs/notifications.md', name), env);
    const reply = JSON.parse(await example('start')) as { data: { startChat: { jobId: string } } };
    const { jobId } = reply.data.startChat;
    const unread = async () => {
      const page = JSON.parse(await example('list')) as {
        notifications: { id: string; jobId: string; type: string }[];
      };
      return page.notifications.find((notification) => notification.jobId === jobId);
    };
    const { id: NOTIFICATION_ID, type } = await eventually('the notification is there', unread);
    expect(type).toBe('job_completed');
    const client = connect({ url: started.url ?? '' }, { authorization: `Bearer ${key}` });
    const subscription = client.iterate({ query: documentExample('docs/notifications.md', 'subscribe') });
    expect(await subscription.next()).toMatchObject({
      value: { data: { notificationActivity: { read: false, job: { status: expect.any(String) } } } },
    });
    await client.dispose();
    expect(JSON.parse(await example('read', { NOTIFICATION_ID }))).toMatchObject({ jobId, read: true });
    expect(await unread()).toBeUndefined();
  });

  it('send an e-mail to a confirmed address when a job ends without viewers', async () => {
    const example = (name: string, env: Record<string, string> = {}) =>
      inShell(documentExample('docs/notifications.md', name), env);
    const saved = JSON.parse(await example('channel')) as {
      data: { saveNotificationChannel: { channel: { id: string; confirmedAt: null } } };
    };
    const { id: CHANNEL_ID, confirmedAt } = saved.data.saveNotificationChannel.channel;
    expect(confirmedAt).toBeNull();
    const CODE = await eventually(
      'the code arrived',
      () => /code is (\d{8})/.exec(mails.received[0]?.source ?? '')?.[1],
    );
    expect(JSON.parse(await example('confirm', { CHANNEL_ID, CODE }))).toMatchObject({
      data: { confirmNotificationChannel: { channel: { confirmedAt: expect.any(String) }, userErrors: [] } },
    });
    const reply = JSON.parse(await example('start')) as { data: { startChat: { jobId: string } } };
    const { jobId } = reply.data.startChat;
    const mail = await eventually('the e-mail arrived', () => mails.received[1]);
    expect(mail).toMatchObject({ to: ['ada@example.com'], headers: { subject: 'A job finished' } });
    expect(mail.source).toContain(`https://app.example.com/jobs/${jobId}?request=`);
    const [link = ''] = /http:[^>]*unsubscribe[^>]*/.exec(mail.headers['list-unsubscribe'] ?? '') ?? [];
    const token = link.split('/').at(-1) ?? '';
    const ended = await fetch(`${started.url ?? ''}/api/notification-channels/unsubscribe/${token}`, {
      method: 'POST',
      body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
    });
    expect([ended.status, await ended.text()]).toEqual([200, expect.stringContaining('No more e-mails')]);
  });

  it('find a call that needs approval and approve it', async () => {
    const example = (name: string, env: Record<string, string> = {}) =>
      inShell(documentExample('docs/approvals.md', name), env);
    const reply = JSON.parse(await example('ask')) as { data: { startChat: { jobId: string } } };
    const { jobId: JOB_ID } = reply.data.startChat;
    const asked = await eventually('the approval is asked for', async () => {
      const { interrupts } = JSON.parse(await example('open-requests', { JOB_ID })) as { interrupts: Asked[] };
      return interrupts[0];
    });
    const [, shown = ''] = /```jsonc\n([^]*?)\n```/.exec(readFileSync(join(root, 'docs/approvals.md'), 'utf8')) ?? [];
    for (const text of [
      asked.title,
      asked.decidableBy,
      asked.request.reason,
      JSON.stringify(asked.request.argumentsPreview),
    ])
      expect(shown).toContain(text);

    const answer = { REQUEST_ID: asked.id, ARGUMENTS_HASH: asked.request.argumentsHash };
    expect(JSON.parse(await example('approve', answer))).toMatchObject({ status: 'resolved', outcome: 'approved' });
    const content = await eventually('the job has its answer', async () => {
      const status = await fetch(`${started.url ?? ''}/api/jobs/${JOB_ID}/status`, { headers: headers() });
      const job = (await status.json()) as { job_status: string; content: string };
      return job.job_status === 'completed' ? job.content : undefined;
    });
    expect(content).toContain('391');
  });

  it('approve a request over GraphQL', async () => {
    const reply = JSON.parse(await inShell(documentExample('docs/approvals.md', 'ask'))) as {
      data: { startChat: { jobId: string } };
    };
    const { jobId: JOB_ID } = reply.data.startChat;
    const request = await eventually('the approval is requested', async () => {
      const { interrupts } = JSON.parse(
        await inShell(documentExample('docs/approvals.md', 'open-requests'), { JOB_ID }),
      ) as { interrupts: Asked[] };
      return interrupts[0];
    });
    const {
      id,
      request: { argumentsHash },
    } = request;
    expect(await answerTo(documentExample('docs/interrupts.md', 'resolve'), { id, argumentsHash })).toMatchObject({
      data: { resolveInterrupt: { interrupt: { status: 'RESOLVED', outcome: 'approved' }, userErrors: [] } },
    });
  });

  it('explain a policy and evaluate a draft on past calls', async () => {
    expect(await answerTo(documentExample('docs/approvals.md', 'explain'))).not.toHaveProperty('errors');
    const draft = JSON.parse(
      codeBlocks('docs/approvals.md').find(({ language }) => language === 'json')?.text ?? '',
    ) as object;
    expect(await answerTo(documentExample('docs/approvals.md', 'dry-run'), { draft })).toMatchObject({
      data: { dryRunPolicy: { examined: expect.any(Number) } },
    });
  });

  it('save a first policy', async () => {
    const query = documentExample('docs/approvals.md', 'save');
    expect(await answerTo(query, { policy: {}, version: 0 })).toMatchObject({
      data: { saveApprovalPolicy: { approvalPolicy: { version: 1 }, userErrors: [] } },
    });
  });

  it('create an agent and chat with it', async () => {
    expect(await answerTo(documentExample('docs/agents.md', 'create'))).toMatchObject({
      data: { createAgent: { agent: { slug: 'office-clerk', version: 1 }, userErrors: [] } },
    });
    expect(await answerTo(documentExample('docs/agents.md', 'update'))).toMatchObject({
      data: { updateAgent: { agent: { version: 2 }, userErrors: [] } },
    });
    expect(await answerTo(documentExample('docs/agents.md', 'versions'))).toMatchObject({
      data: { agentVersions: { nodes: [{ number: 2 }, { number: 1 }] } },
    });
    expect(await answerTo(documentExample('docs/agents.md', 'ask'))).toMatchObject({
      data: { startChat: { job: { agent: { slug: 'office-clerk', version: 2 } } } },
    });
  });

  it('list the calls of all jobs', async () => {
    for (const name of ['list', 'stats'])
      expect(await answerTo(documentExample('docs/tool-call-history.md', name))).not.toHaveProperty('errors');
    const script = documentExample('docs/tool-call-history.md', 'export').replaceAll(
      'calls.ndjson',
      join(folder, 'calls.ndjson'),
    );
    expect(await inShell(script)).toMatch(/^\{"type":"end","count":\d+\}\n$/);
  });
});
