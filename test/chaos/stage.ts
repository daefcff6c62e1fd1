import type { MemberPrincipal } from '#auth';
import { ChatService } from '#chat';
import { EventFeed, type JobSnapshot, JobStopper, SnapshotRepository } from '#jobs';

import { createTestDatabase, TEST_SECRET, type TestDatabase } from '../harness/database.js';
import { startTestEngine, type TestEngine } from '../harness/engine.js';
import { openTestIdentities } from '../harness/identities.js';
import { type NightshiftProcess, startProcess } from '../harness/processes.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { chat } from './chat.js';
import { problemsOf } from './checkers.js';
import { ToolLedger } from './tool-ledger.js';
import { type Viewer, watch } from './viewer.js';

/** Short, so that a lost worker costs a test two seconds. */
export const LEASE_MS = 1_500;

/** One Postgres, one model, one tool server, a door in this process, and worker processes that tests may kill. */
export class Stage {
  private readonly processes: NightshiftProcess[] = [];
  readonly viewers: Viewer[] = [];

  private constructor(
    readonly database: TestDatabase,
    readonly model: ScriptedModel,
    readonly ledger: ToolLedger,
    readonly door: TestEngine,
    readonly owner: MemberPrincipal,
  ) {}

  static async open(database?: TestDatabase): Promise<Stage> {
    const own = database ?? (await createTestDatabase());
    const model = await ScriptedModel.start();
    const ledger = await ToolLedger.start();
    const identities = openTestIdentities(own);
    const { owner } = await identities.workspaceOf('acme');
    identities.auth.close();
    await own.postgres.withWorkspaceSql(owner.workspaceId, (client) =>
      client.query('UPDATE workspace SET max_jobs = 1000, max_jobs_per_user = 1000'),
    );
    const door = await startTestEngine(own, { ...settingsOf(model), BUS: 'postgres' }, false);
    return new Stage(own, model, ledger, door, owner);
  }

  /** A worker process that is ready; `env` on top of the usual settings. */
  async startWorker(env: Readonly<Record<string, string>> = {}): Promise<NightshiftProcess> {
    const worker = await startProcess({
      role: 'worker',
      databaseUrl: this.database.urls.owner,
      secret: TEST_SECRET,
      entry: 'test/chaos/chaos-process.main.js',
      env: { ...settingsOf(this.model), CHAOS_TOOLS_URL: this.ledger.url, ...env },
    });
    this.processes.push(worker);
    return worker;
  }

  /** An api process that is ready. */
  async startApi(env: Readonly<Record<string, string>> = {}): Promise<NightshiftProcess> {
    const api = await startProcess({
      role: 'api',
      databaseUrl: this.database.urls.owner,
      secret: TEST_SECRET,
      env: { ...settingsOf(this.model), ...env },
    });
    this.processes.push(api);
    return api;
  }

  /** A key of the owner, for doors. */
  async createKey(): Promise<string> {
    const { auth } = openTestIdentities(this.database);
    const { text } = await auth.apiKeys.create(this.owner, { name: 'chaos', scopes: ['read', 'write'] });
    auth.close();
    return text;
  }

  /** Accepts a job that asks `text`, with the tools of the chaos process, and watches it from its first event on. */
  async ask(text: string, tools: readonly string[] = []): Promise<Viewer> {
    const { jobId } = await this.door.app.get(ChatService).start(this.owner, chat(text, tools));
    return this.watch(jobId);
  }

  /** Another viewer, from `after` on. */
  watch(jobId: string, after = 0): Viewer {
    const { workspaceId } = this.owner;
    const viewer = watch(this.door.app.get(EventFeed), { workspaceId, jobId }, after);
    this.viewers.push(viewer);
    return viewer;
  }

  async snapshot(jobId: string): Promise<JobSnapshot> {
    const snapshot = await this.door.app.get(SnapshotRepository).read(this.owner.workspaceId, jobId);
    if (snapshot === null) throw new Error(`there is no job ${jobId}`);
    return snapshot;
  }

  get stopper(): JobStopper {
    return this.door.app.get(JobStopper);
  }

  /** Reattaches to an ended job at every number, waits for all viewers, and gives what any checker has to say. */
  async problems(): Promise<string[]> {
    const first = this.viewers.filter(({ after }) => after === 0);
    await Promise.all(first.map(({ ended }) => ended));
    for (const { jobId, events } of first)
      for (let after = 1; after <= events.length; after++) this.watch(jobId, after);
    await Promise.all(this.viewers.map(({ ended }) => ended));
    return problemsOf(this.database, this);
  }

  async close(): Promise<void> {
    for (const viewer of this.viewers) viewer.leave();
    for (const process of this.processes) {
      process.kill('SIGCONT');
      process.kill('SIGKILL');
      await process.exited;
    }
    await this.door.close();
    await this.model.close();
    await this.ledger.close();
    await this.database.close();
  }
}

function settingsOf(model: ScriptedModel): Record<string, string> {
  return {
    MODEL_BASE_URL: model.url,
    MODEL_NAME: 'scripted',
    MODEL_RETRIES: '0',
    LEASE_MS: String(LEASE_MS),
    DELTA_FLUSH_MS: '10',
    WORKER_DRAIN_MS: '500',
  };
}
