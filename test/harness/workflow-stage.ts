import { scopeOf } from '#auth';
import { type Interrupt, InterruptsRepository, JobStopper, type StopState, Worker } from '#jobs';

import { type ApprovalStage, openApprovalStage } from './approval-stage.js';
import { eventually } from './eventually.js';
import { everyEvent } from './every-event.js';
import type { RecordedRequest } from './scripted-model.js';
import type { Reply } from './scripted-reply.js';
import { publish, republish, sketch, type SketchedNode, startWorkflow } from './workflows.js';

/** A node run as it is stored. */
export interface StoredNodeRun {
  readonly node: string;
  readonly status: string;
  readonly output: string | null;
}

export interface StoredEvent {
  readonly seq: number;
  readonly type: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What differs from a workflow without a thread whose prompt is `Hello`. */
export interface RunOptions {
  readonly prompt?: string;
  readonly meta?: object;
  readonly thread?: string;
  readonly history?: readonly { readonly role: 'user' | 'assistant'; readonly content: string }[];
}

/** A stage whose jobs are workflows of the member, who also answers requests, with a scripted model per node. */
export interface WorkflowStage extends ApprovalStage {
  /** Scripts the replies for requests whose first messages contain this line: the prompt of a node. */
  script(line: string, ...replies: readonly Reply[]): void;
  /** The messages of each model request whose conversation has this line. */
  asked(line: string): readonly (readonly AskedMessage[])[];
  requests(line: string): readonly RecordedRequest[];
  /** Throws when a request was not scripted or a scripted reply was not used. */
  assertPlayed(): void;
  /** Publishes a workflow and starts it; gives its job. */
  run(nodes: Readonly<Record<string, SketchedNode>>, edges: readonly string[], options?: RunOptions): Promise<string>;
  /** Publishes a workflow for use in other workflows. Returns its id. */
  publish(nodes: Readonly<Record<string, SketchedNode>>, edges: readonly string[], meta?: object): Promise<string>;
  /** Publishes another version of the workflow. */
  republish(id: string, nodes: Readonly<Record<string, SketchedNode>>, edges: readonly string[]): Promise<void>;
  /** The node runs of a job, in the order in which they began. A node run inside of loops and maps is named `<node>@<pass>.<pass>`. */
  runsOf(jobId: string): Promise<readonly StoredNodeRun[]>;
  outputsOf(jobId: string): Promise<Readonly<Record<string, string | null>>>;
  statusesOf(jobId: string): Promise<Readonly<Record<string, string>>>;
  eventsOf(jobId: string, ...types: readonly string[]): Promise<readonly StoredEvent[]>;
  /** The open requests of a job, once there are `count` of them; the job may still run. */
  asks(jobId: string, count: number): Promise<readonly Interrupt[]>;
  /** The open requests of a job, by node. */
  waitsAt(jobId: string): Promise<ReadonlyMap<string, Interrupt>>;
  answer(interrupt: Interrupt | undefined, answer: object): Promise<void>;
  /**
   * What the job waits for once its model received a request with this line. On a slow machine a time budget may run out before that:
   * then the test grants more.
   */
  waitsAfter(line: string, jobId: string): Promise<Interrupt | undefined>;
  /** Moves the deadline of a job's requests into the past. */
  expire(jobId: string): Promise<void>;
  stop(jobId: string): Promise<StopState>;
  /** Expires the lease of the job, as if its worker had been lost, so that another worker claims it. */
  loseLease(jobId: string): Promise<void>;
}

interface AskedMessage {
  readonly role: string;
  readonly content: unknown;
}

/** An agent with this prompt, which selects its script. */
export function agent(prompt: string, data: object = {}): SketchedNode {
  return { type: 'agent', model: 'scripted', prompt, ...data };
}

export async function openWorkflowStage(env: Readonly<Record<string, string>> = {}): Promise<WorkflowStage> {
  const stage = await openApprovalStage({ ALLOW_PRIVATE_TOOL_URLS: 'true', ...env });
  const [scripts, acts] = [scriptsOf(stage), actsOf(stage)];
  const waitsAfter = async (line: string, jobId: string) => {
    for (;;) {
      const [asked] = await stage.waits(jobId);
      if (scripts.requests(line).length > 0) return asked;
      await acts.answer(asked, { action: 'approve' });
    }
  };
  return { ...stage, ...scripts, ...startsOf(stage), ...rowsOf(stage), ...acts, waitsAfter };
}

function scriptsOf({ model }: ApprovalStage) {
  const scripts = new Map<string, Reply[]>();
  const requests = (line: string) => model.requests.filter((request) => linesOf(request).includes(line));
  model.answer((request) => {
    const line = linesOf(request).find((one) => (scripts.get(one)?.length ?? 0) > 0);
    return line === undefined ? undefined : scripts.get(line)?.shift();
  });
  return {
    requests,
    script: (line: string, ...replies: readonly Reply[]) => {
      scripts.set(line, [...(scripts.get(line) ?? []), ...replies]);
    },
    asked: (line: string) => requests(line).map(messagesOf),
    assertPlayed: () => {
      model.assertDone();
      const left = [...scripts].filter(([, replies]) => replies.length > 0).map(([line]) => line);
      scripts.clear();
      if (left.length > 0) throw new Error(`scripted replies without a request: ${left.join(', ')}`);
    },
  };
}

function messagesOf({ json }: RecordedRequest): readonly AskedMessage[] {
  return json['messages'] as readonly AskedMessage[]; // the shape that the model client sends
}

/** The lines of the first two messages. */
function linesOf(request: RecordedRequest): readonly string[] {
  const first = messagesOf(request).slice(0, 2);
  return first.flatMap(({ content }) => (typeof content === 'string' ? content.split('\n') : []));
}

function startsOf({ engine, people: { owner, member } }: ApprovalStage) {
  let names = 0;
  const publishOne = (nodes: Readonly<Record<string, SketchedNode>>, edges: readonly string[], meta: object = {}) => {
    names += 1;
    return publish(engine, owner, sketch(nodes, edges, { name: `workflow ${names}`, ...meta }));
  };
  return {
    publish: async (...definition: Parameters<typeof publishOne>) => (await publishOne(...definition)).id,
    republish: (...[id, nodes, edges]: Parameters<WorkflowStage['republish']>) => {
      const definition = sketch(nodes, edges, { name: 'republished' });
      return republish(engine, owner, { id, definition });
    },
    run: async (...[nodes, edges, { prompt = 'Hello', meta, ...rest } = {}]: Parameters<WorkflowStage['run']>) => {
      const workflow = await publishOne(nodes, edges, meta);
      return startWorkflow(engine, member, { workflow, prompt, ...rest });
    },
  };
}

const runsSql = `SELECT node_id || coalesce('@' || nullif(array_to_string(iteration, '.'), ''), '') AS node,
  status, output FROM node_run WHERE job_id = $1 ORDER BY ordinal`;
const eventsSql = `SELECT seq, type, body FROM ${everyEvent} e WHERE job_id = $1 AND (cardinality($2::text[]) = 0 OR type = ANY($2))
  ORDER BY seq`;

function rowsOf(stage: ApprovalStage) {
  const runsOf = (jobId: string) => stage.rows<StoredNodeRun>(runsSql, [jobId]);
  return {
    runsOf,
    outputsOf: async (jobId: string) =>
      Object.fromEntries((await runsOf(jobId)).map(({ node, output }) => [node, output])),
    statusesOf: async (jobId: string) =>
      Object.fromEntries((await runsOf(jobId)).map(({ node, status }) => [node, status])),
    eventsOf: (jobId: string, ...types: readonly string[]) => stage.rows<StoredEvent>(eventsSql, [jobId, types]),
  };
}

function actsOf(stage: ApprovalStage) {
  const { app } = stage.engine;
  const { member } = stage.people;
  return {
    asks: (jobId: string, count: number) =>
      eventually(`the job asks ${count} times`, async () => {
        const page = { limit: 50, reverse: true };
        const open = await app
          .get(InterruptsRepository)
          .listInScope(scopeOf(member), { jobId, statuses: ['open'] }, page);
        return open.length === count ? open : undefined;
      }),
    waitsAt: async (jobId: string) => new Map((await stage.waits(jobId)).map((one) => [one.nodeId ?? '', one])),
    answer: async (interrupt: Interrupt | undefined, answer: object) => {
      if (interrupt === undefined) throw new Error('the interrupt does not exist');
      await stage.decide(member, interrupt, answer);
    },
    expire: async (jobId: string) => {
      await stage.rows(`UPDATE interrupt SET expires_at = clock_timestamp() - interval '1 s' WHERE job_id = $1`, [
        jobId,
      ]);
    },
    stop: (jobId: string) => app.get(JobStopper).stop(scopeOf(member), jobId),
    loseLease: async (jobId: string) => {
      await stage.rows(
        `UPDATE job SET lease_until = clock_timestamp() - interval '1 s', lease_epoch = lease_epoch + 1 WHERE id = $1`,
        [jobId],
      );
      await app.get(Worker).sweep();
    },
  };
}
