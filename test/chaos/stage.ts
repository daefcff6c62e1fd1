import { ApprovalPoliciesService, InterruptsService } from '#approvals';
import type { KeyScope, MemberPrincipal, Role } from '#auth';
import { ChatService } from '#chat';
import { EventFeed, type Interrupt, interruptKinds, type JobSnapshot, JobStopper, SnapshotRepository } from '#jobs';

import { createTestDatabase, TEST_SECRET, type TestDatabase } from '../harness/database.js';
import { startTestEngine, type TestEngine } from '../harness/engine.js';
import { eventually } from '../harness/eventually.js';
import { failAtOnce } from '../harness/fail-at-once.js';
import { openTestIdentities } from '../harness/identities.js';
import { type NightshiftProcess, startProcess } from '../harness/processes.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { chat } from './chat.js';
import { problemsOf } from './checkers.js';
import { type Order, orders } from './obedient-model.js';
import { ToolLedger } from './tool-ledger.js';
import { type Viewer, watch } from './viewer.js';

/**
 * Leases are long, so that a stalled machine takes none from a living worker; those of killed workers end
 * with the first sweep of the next worker.
 */
const LEASE_MS = '60000';

/** For who is to lose his leases by sleeping, and not before that. */
export const sleeper = { LEASE_MS: '9000' };

/** One Postgres, one model, one tool server, an engine in this process, and worker processes that tests may kill. */
export class Stage {
  private readonly processes: NightshiftProcess[] = [];
  readonly viewers: Viewer[] = [];

  private constructor(
    readonly database: TestDatabase,
    readonly model: ScriptedModel,
    readonly ledger: ToolLedger,
    readonly engine: TestEngine,
    readonly people: Record<Role, MemberPrincipal>,
  ) {}

  get owner(): MemberPrincipal {
    return this.people.owner;
  }

  /** `env`: more settings of the engine. */
  static async open(database?: TestDatabase, env: Readonly<Record<string, string>> = {}): Promise<Stage> {
    const own = database ?? (await createTestDatabase());
    const model = await ScriptedModel.start();
    const ledger = await ToolLedger.start();
    const identities = openTestIdentities(own);
    const people = await identities.workspaceOf('acme');
    identities.auth.close();
    await own.postgres.withWorkspaceSql(people.owner.workspaceId, (client) =>
      client.query('UPDATE workspace SET max_jobs = 1000, max_jobs_per_user = 1000'),
    );
    const engine = await startTestEngine(own, { ...settingsOf(model), BUS: 'postgres', ...env }, false);
    return new Stage(own, model, ledger, engine, people);
  }

  /** A worker process that is ready; `env` on top of the usual settings. */
  startWorker(env: Readonly<Record<string, string>> = {}): Promise<NightshiftProcess> {
    return this.startWorkerAs('worker', env);
  }

  /** A process that runs calls of isolated tools, and no jobs. */
  startTools(env: Readonly<Record<string, string>> = {}): Promise<NightshiftProcess> {
    return this.startWorkerAs('tools', env);
  }

  private async startWorkerAs(role: 'worker' | 'tools', env: Readonly<Record<string, string>>) {
    const worker = await startProcess({
      role,
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

  /** The same, for one that knows the tools of the chaos process too. */
  async startApiWithTools(): Promise<NightshiftProcess> {
    const api = await startProcess({
      role: 'api',
      databaseUrl: this.database.urls.owner,
      secret: TEST_SECRET,
      entry: 'test/chaos/chaos-process.main.js',
      env: { ...settingsOf(this.model), CHAOS_TOOLS_URL: this.ledger.url },
    });
    this.processes.push(api);
    return api;
  }

  /** An API key of the owner. */
  async createKey(scopes: readonly KeyScope[] = ['read', 'write']): Promise<string> {
    const { auth } = openTestIdentities(this.database);
    const { text } = await auth.apiKeys.create(this.owner, { name: 'chaos', scopes });
    auth.close();
    return text;
  }

  /** Sets the workspace's approval policy; processes that are started later begin with it. */
  async policy(policy: object): Promise<void> {
    await this.engine.app.get(ApprovalPoliciesService).save(this.owner, { policy, expectedVersion: null });
  }

  /** Accepts a job that asks `text`, with the tools of the chaos process, and watches it from its first event on. */
  async ask(text: string, tools: readonly string[] = []): Promise<Viewer> {
    const { jobId } = await this.engine.app.get(ChatService).start(this.owner, chat(text, tools));
    return this.watch(jobId);
  }

  /** As `ask`, for the obedient model: these calls, round by round. */
  order(...rounds: readonly (readonly Order[])[]): Promise<Viewer> {
    return this.ask(orders(...rounds), [...new Set(rounds.flat().map(({ tool }) => tool))]);
  }

  /** What the job waits for, oldest first, once it waits for exactly that many. */
  waits(jobId: string, count = 1): Promise<readonly Interrupt[]> {
    return eventually(`the job waits for ${count}`, async () => {
      const { status, ended } = await this.snapshot(jobId);
      if (ended) throw new Error(`job ${jobId} has ended as ${status}`);
      if (status !== 'waiting') return undefined;
      const query = { jobId, statuses: ['open'], kinds: interruptKinds };
      const open = await this.engine.app.get(InterruptsService).list(this.owner, query, { limit: 100, reverse: true });
      return open.length === count ? open : undefined;
    });
  }

  /** What the owner answers. */
  async answer({ id }: Pick<Interrupt, 'id'>, answer: object): Promise<void> {
    await this.engine.app.get(InterruptsService).decide(this.owner, id, answer);
  }

  /** Another viewer, from `after` on. */
  watch(jobId: string, after = 0): Viewer {
    const { workspaceId } = this.owner;
    const viewer = watch(this.engine.app.get(EventFeed), { workspaceId, jobId }, after);
    this.viewers.push(viewer);
    return viewer;
  }

  async snapshot(jobId: string): Promise<JobSnapshot> {
    const snapshot = await this.engine.app.get(SnapshotRepository).read(this.owner.workspaceId, jobId);
    if (snapshot === null) throw new Error(`job ${jobId} does not exist`);
    return snapshot;
  }

  get stopper(): JobStopper {
    return this.engine.app.get(JobStopper);
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

  /** The end of every process, without a word. */
  async killAll(): Promise<void> {
    for (const process of this.processes) {
      process.kill('SIGCONT');
      process.kill('SIGKILL');
    }
    await Promise.all(this.processes.splice(0).map(({ exited }) => exited));
  }

  async close(): Promise<void> {
    for (const viewer of this.viewers) viewer.leave();
    await this.killAll();
    await this.engine.close();
    await this.model.close();
    await this.ledger.close();
    await this.database.close();
  }
}

function settingsOf(model: ScriptedModel): Record<string, string> {
  return {
    MODEL_BASE_URL: model.url,
    MODEL_NAME: 'scripted',
    ...failAtOnce,
    MODEL_IDLE_TIMEOUT_MS: '240000', // gates hold answers for as long as a test needs
    LEASE_MS,
    DELTA_FLUSH_MS: '10',
    WORKER_DRAIN_MS: '500',
  };
}
