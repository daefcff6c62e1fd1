import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';

import { type ConversationNode, type JobConversations, type NodeCallingRun, NodeConversations } from '#chat';
import { JobHandlers, type JobOutcome, type JobRun, JobStarter, Worker } from '#jobs';
import type { ChatMessage } from '#models';
import { newId } from '#platform';

import { type ApprovalStage, openApprovalStage } from './approval-stage.js';
import type { Reply } from './scripted-reply.js';

/** What the nodes of a job do, once its conversations are open. */
export type Play = (conversations: JobConversations, run: JobRun) => Promise<JobOutcome>;

/** A stage whose workflow jobs run a function of the test, with a model that answers each conversation by its own script. */
export interface NodeStage extends ApprovalStage {
  /** Sets the function that each run of a job calls. */
  plays(play: Play): void;
  /** Scripts the replies for the conversation with this first user message. */
  script(user: string, ...replies: readonly Reply[]): void;
  /** The number of model requests of the conversation with this first user message. */
  asked(user: string): number;
  /** Throws when scripted replies were not requested. */
  assertPlayed(): void;
  start(): Promise<string>;
  roundsOf(jobId: string): Promise<readonly StoredRound[]>;
  callsOf(jobId: string): Promise<readonly StoredCall[]>;
  /** The bodies of the events of a kind. */
  eventsOf(jobId: string, type: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Expires the lease of the job, as if its worker had been lost, so that another worker claims it. */
  loseLease(run: JobRun): Promise<void>;
}

export interface StoredRound {
  readonly number: number;
  readonly node: number;
  readonly branch: string | null;
  readonly text: string;
  readonly captured: string | null;
}

export interface StoredCall {
  readonly round: number;
  readonly callId: string;
  readonly name: string;
  readonly status: string;
}

/** A stage for all tests of a file: each starts without a policy and recorded calls, and must use every scripted reply. */
export function useNodeStage(take: (stage: NodeStage) => void): void {
  let stage: NodeStage;
  beforeAll(async () => {
    stage = await openNodeStage();
    take(stage);
  });
  beforeEach(async () => {
    stage.ran.length = 0;
    await stage.policy({ rules: [] });
  });
  afterEach(() => {
    stage.assertPlayed();
  });
  afterAll(async () => {
    await stage.close();
  });
}

async function openNodeStage(): Promise<NodeStage> {
  const stage = await openApprovalStage({});
  const { app } = stage.engine;
  const scripts = new Map<string, Reply[]>();
  let current: Play = () => Promise.reject(new Error('the test did not call plays()'));
  const handler = app.get(JobHandlers).find('workflow');
  if (handler === undefined) throw new Error('no handler for workflow jobs is registered');
  // The test replaces the nodes of a workflow.
  handler.run = async (run) => current(await app.get(NodeConversations).open(run), run);
  stage.model.answer((request) => scripts.get(userOf(request.json))?.shift());
  return {
    ...stage,
    plays: (play) => {
      current = play;
    },
    script: (user, ...replies) => {
      scripts.set(user, [...(scripts.get(user) ?? []), ...replies]);
    },
    asked: (user) => stage.model.requests.filter(({ json }) => userOf(json) === user).length,
    assertPlayed: () => {
      stage.model.assertDone();
      const left = [...scripts].filter(([, replies]) => replies.length > 0).map(([user]) => user);
      if (left.length > 0) throw new Error(`scripted replies without a request: ${left.join(', ')}`);
    },
    start: async () => {
      const { workspaceId, userId, id } = stage.people.member;
      const jobId = newId();
      await app.get(JobStarter).start({
        ...{ jobId, workspaceId, kind: 'workflow', principal: id, createdBy: userId, thread: null },
        ...{ messageClientId: null, model: 'scripted', input: {}, keyCipher: null, retryOf: null, idempotency: null },
      });
      return jobId;
    },
    ...rowsOf(stage),
  };
}

function rowsOf(stage: ApprovalStage) {
  const rows = <Row extends object>(sql: string, values: readonly unknown[]) => stage.rows<Row>(sql, values);
  return {
    roundsOf: (jobId: string) =>
      rows<StoredRound>(
        'SELECT number, node_run AS node, branch, text, captured FROM round WHERE job_id = $1 ORDER BY number',
        [jobId],
      ),
    callsOf: (jobId: string) =>
      rows<StoredCall>(
        'SELECT round, call_id AS "callId", name, status FROM tool_call WHERE job_id = $1 ORDER BY round, ordinal',
        [jobId],
      ),
    eventsOf: async (jobId: string, type: string) => {
      const sql = 'SELECT body FROM job_event WHERE job_id = $1 AND type = $2 ORDER BY seq';
      return (await rows<{ body: Record<string, unknown> }>(sql, [jobId, type])).map(({ body }) => body);
    },
    loseLease: async (run: JobRun) => {
      run.lose();
      await rows(`UPDATE job SET lease_until = clock_timestamp() - interval '1 s' WHERE id = $1`, [run.job.jobId]);
      await stage.engine.app.get(Worker).sweep();
    },
  };
}

function userOf(json: Readonly<Record<string, unknown>>): string {
  const messages = json['messages'] as readonly ChatMessage[]; // the body of a model request
  const content = messages.find(({ role }) => role === 'user')?.content;
  return typeof content === 'string' ? content : '';
}

/** A run as the node `n<number>` sees it; `signal` stops that node alone. */
export function viewOf(
  run: JobRun,
  nodeRun: number,
  { branch = null, signal }: { branch?: string | null; signal?: AbortSignal } = {},
): NodeCallingRun {
  const nodeId = `n${nodeRun}`;
  const node: ConversationNode = { nodeRun, nodeId, path: [], branch };
  const place = { nodeId, isContent: false };
  return {
    job: run.job,
    node,
    signal: signal === undefined ? run.signal : AbortSignal.any([run.signal, signal]),
    get draining() {
      return run.draining;
    },
    activity: run.activity,
    abort: (reason) => {
      run.abort(reason);
    },
    assertValid: () => {
      run.assertValid();
    },
    text: (round, text) => run.text(round, text, place),
    reasoning: (round, text) => run.reasoning(round, text, place),
    closeRound: (round) => run.closeRound(round),
    restartRound: (round, reason) => {
      run.restartRound(round, reason, place);
    },
    append: (write) => {
      run.append(write);
    },
    commit: (write) => run.commit(write),
    commitUnlessCancelled: (write) => run.commitUnlessCancelled(write),
  };
}

/** The conversation that a node of the tests opens with its model. */
export function saying(user: string, more: object = {}) {
  return {
    ...{ isShown: true, model: null, tools: ['send', 'look_up'], maxIterations: 10 },
    messages: [{ role: 'user', content: user } as const],
    ...more,
  };
}

/** A call of the model; providers like to give the same id in every conversation. */
export const call = (name: string, to: string, id = 'call_1') => ({ id, name, arguments: JSON.stringify({ to }) });

export const approve = (request: Readonly<Record<string, unknown>>) => ({
  decision: 'approve',
  argumentsHash: request['argumentsHash'],
});

export const done = { status: 'completed', reason: 'stop' } as const;
