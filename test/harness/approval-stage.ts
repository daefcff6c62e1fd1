import { ApprovalPoliciesService, InterruptsService } from '#approvals';
import type { MemberPrincipal, Role } from '#auth';
import { ChatService, type StartChat } from '#chat';
import { type Interrupt, interruptKinds, InterruptTimers, type JobSnapshot, SnapshotRepository } from '#jobs';
import { defineTool, ToolRegistry } from '#tools';

import { createTestDatabase, type TestDatabase } from './database.js';
import { startTestEngine, type TestEngine } from './engine.js';
import { eventually } from './eventually.js';
import { openTestIdentities } from './identities.js';
import { ScriptedModel } from './scripted-model.js';

/** What ran, in order: the tool and the arguments it was handed. */
export type Ran = readonly [tool: string, args: Readonly<Record<string, unknown>>];

const input = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] };

/** A worker in this process, a workspace with people of every role, and tools that record their arguments. */
export interface ApprovalStage {
  readonly database: TestDatabase;
  readonly model: ScriptedModel;
  readonly engine: TestEngine;
  readonly people: Record<Role, MemberPrincipal>;
  readonly ran: Ran[];
  /** Sets the workspace's policy; in force when it returns. */
  policy(policy: object): Promise<void>;
  ask(
    tools: readonly string[],
    changes?: Partial<StartChat>,
  ): Promise<{ readonly jobId: string; readonly threadId: string }>;
  /** The open requests of the job, once it waits. */
  waits(jobId: string): Promise<readonly Interrupt[]>;
  decide(by: MemberPrincipal, interrupt: Interrupt, answer: object): Promise<Interrupt>;
  /** The job once it has ended. */
  ended(jobId: string): Promise<JobSnapshot>;
  /** Runs the timers of requests now. */
  timers(): Promise<void>;
  rows<Row extends object>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

export async function openApprovalStage(env: Readonly<Record<string, string>> = {}): Promise<ApprovalStage> {
  const database = await createTestDatabase();
  const model = await ScriptedModel.start();
  const identities = openTestIdentities(database);
  const people = await identities.workspaceOf('acme');
  identities.auth.close();
  const { workspaceId } = people.owner;
  await database.postgres.withWorkspaceSql(workspaceId, (client) =>
    client.query('UPDATE workspace SET max_jobs = 1000, max_jobs_per_user = 1000'),
  );
  const engine = await startTestEngine(database, { MODEL_BASE_URL: model.url, LEASE_MS: '60000', ...env });
  const ran: Ran[] = [];
  registerTools(engine, ran);
  return {
    database,
    model,
    engine,
    people,
    ran,
    ...stageOf(engine, people),
    close: async () => {
      await engine.close();
      await model.close();
      await database.close();
    },
  };
}

function stageOf(engine: TestEngine, people: Record<Role, MemberPrincipal>) {
  const { app } = engine;
  const { workspaceId } = people.owner;
  const rows = async <Row extends object>(sql: string, values: readonly unknown[] = []) =>
    (await engine.platform.postgres.workerPool.query<Row>(sql, [...values])).rows;
  const snapshot = async (jobId: string) => app.get(SnapshotRepository).read(workspaceId, jobId);
  return {
    rows,
    policy: async (policy: object) => {
      await app.get(ApprovalPoliciesService).save(people.owner, { policy, expectedVersion: null });
    },
    ask: async (tools: readonly string[], changes: Partial<StartChat> = {}) => {
      const { jobId, threadId } = await app.get(ChatService).start(people.member, {
        ...question,
        tools,
        ...changes,
      });
      return { jobId, threadId: threadId ?? '' };
    },
    waits: (jobId: string) =>
      eventually('the job waits', async () => {
        const seen = await snapshot(jobId);
        if (seen?.ended === true) throw new Error(`it has ended: ${JSON.stringify(seen)}`);
        if (seen?.status !== 'waiting') return undefined;
        const open = { jobId, statuses: ['open'], kinds: interruptKinds };
        return app.get(InterruptsService).list(people.owner, open, { limit: 50 });
      }),
    decide: (by: MemberPrincipal, interrupt: Interrupt, answer: object) =>
      app.get(InterruptsService).decide(by, interrupt.id, answer),
    ended: (jobId: string) =>
      eventually('the job has ended', async () => {
        const seen = await snapshot(jobId);
        return seen?.ended === true ? seen : undefined;
      }),
    timers: () => app.get(InterruptTimers).sweep(),
  };
}

function registerTools(engine: TestEngine, ran: Ran[]): void {
  for (const [name, effect] of [
    ['send', 'once'],
    ['look_up', 'pure'],
  ] as const) {
    engine.app.get(ToolRegistry).register(
      defineTool({
        name,
        description: name,
        input,
        effect,
        execute: (args) => {
          ran.push([name, args]);
          return `${name} done`;
        },
      }),
    );
  }
}

const question: StartChat = {
  threadRef: null,
  createThread: true,
  messageClientId: null,
  model: null,
  messages: [{ role: 'user', content: 'do it' }],
  history: 'thread',
  tools: [],
  toolRuntimes: {},
  toolChoice: null,
  parameters: {},
  whenBusy: null,
  idempotency: null,
  providerKey: null,
  backgroundMode: undefined,
};
