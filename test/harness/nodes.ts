import { ManualClock } from '#platform';

import { parseDocument } from '../../libs/workflows/src/definition/document.js';
import { toGraph, type WorkflowGraph } from '../../libs/workflows/src/definition/graph.js';
import type {
  Conversed,
  Conversing,
  NodeContext,
  NodeOutcome,
  NodePorts,
  PersonAnswer,
  Question,
  ScopeView,
} from '../../libs/workflows/src/engine/node-executor.js';
import { createNodeRegistry } from '../../libs/workflows/src/nodes/create-node-registry.js';

type Reply = Conversed | Error | ((request: Conversing) => Promise<Conversed>);

/** The scripted surroundings of a node; a call without a script fails. */
export interface NodeScript {
  /** By conversation; `''` is the one without a name. The replies are used in order, the last one repeatedly. */
  readonly models?: Readonly<Record<string, readonly (string | Reply)[]>>;
  /** By the question's key. */
  readonly people?: Readonly<Record<string, Omit<Extract<PersonAnswer, { type: 'answered' }>, 'type'> | 'waiting'>>;
  readonly ports?: Partial<NodePorts>;
}

/** One node and its surroundings. */
export interface NodeCase extends NodeScript {
  readonly type: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly input?: string;
  readonly earlier?: ScopeView['earlier'];
  /** Beside those of `earlier`. */
  readonly outputs?: Readonly<Record<string, string>>;
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly session?: ScopeView['session'];
  readonly attachments?: ScopeView['attachments'];
  /** `[handle, target]`; targets are created automatically, labeled in upper case. */
  readonly edges?: readonly (readonly [handle: string | null, target: string])[];
  readonly meta?: Readonly<Record<string, unknown>>;
  /** More nodes of the document. */
  readonly nodes?: readonly { readonly id: string; readonly type: string; readonly data: object }[];
  readonly signal?: AbortSignal;
  readonly clock?: ManualClock;
}

/** The requests of a node. */
export class NodeRecord {
  readonly conversations: Conversing[] = [];
  readonly questions: Question[] = [];
  readonly warnings: string[] = [];
  readonly branches: string[] = [];
  readonly others: unknown[] = [];

  /** The user's texts and the system's, of one conversation. */
  texts(index = 0): readonly unknown[] {
    return this.conversations[index]?.messages.map(({ content }) => content) ?? [];
  }
}

/** Runs a node called `n` of a small workflow by its executor. */
export async function runNode(node: NodeCase): Promise<{ readonly outcome: NodeOutcome; readonly record: NodeRecord }> {
  const record = new NodeRecord();
  const clock = node.clock ?? new ManualClock();
  const context = toContext(node, toPorts(node, record, clock));
  const outcome = await createNodeRegistry(clock).executorOf(context.node.type).run(context);
  return { outcome, record };
}

function toPorts(script: NodeScript, record: NodeRecord, clock: ManualClock): NodePorts {
  const counts = new Map<string, number>();
  const refuse = (name: string) => (): Promise<never> => Promise.reject(new Error(`unexpected ${name}`));
  return {
    converse: async (request) => {
      record.conversations.push(request);
      const branch = request.branch ?? '';
      const replies = script.models?.[branch] ?? [];
      const at = counts.get(branch) ?? 0;
      counts.set(branch, at + 1);
      const reply = replies[Math.min(at, replies.length - 1)];
      if (reply === undefined) throw new Error(`unexpected conversation "${branch}"`);
      if (typeof reply === 'string') return { type: 'answered', text: reply, captured: null };
      if (reply instanceof Error) throw reply;
      return typeof reply === 'function' ? reply(request) : reply;
    },
    ask: (question) => {
      record.questions.push(question);
      const answer = script.people?.[question.key];
      if (answer === undefined) return Promise.reject(new Error(`unexpected question "${question.key}"`));
      if (answer === 'waiting') return Promise.resolve({ type: 'waiting', interruptIds: [question.key] });
      return Promise.resolve({ type: 'answered', ...answer });
    },
    callTool: refuse('tool'),
    toolSchema: refuse('tool'),
    remember: refuse('memory'),
    recall: refuse('memory'),
    fetch: refuse('request'),
    waitFor: refuse('wait'),
    runPlugin: refuse('plugin'),
    warn: (code, text) => record.warnings.push(`${code}: ${text}`),
    branchStarted: (id, label) => record.branches.push(`+${id} ${label}`),
    branchFinished: (id, _label, end) => record.branches.push(`-${id} ${'output' in end ? end.output : end.error}`),
    modelTakes: () => Promise.resolve(false),
    now: () => clock.now(),
    ...script.ports,
  };
}

function toContext(given: NodeCase, ports: NodePorts): NodeContext {
  const { input = 'hello', signal = new AbortController().signal } = given;
  const graph = graphAround(given);
  const node = graph.nodes.get('n');
  if (node === undefined) throw new Error('no node');
  const run: NodeContext['run'] = {
    nodeId: 'n',
    iteration: [],
    ordinal: 1,
    path: [],
    type: node.type,
    label: node.label,
    status: 'active',
    input,
    output: null,
    handles: null,
    handOn: 'output',
    extra: {},
    error: null,
  };
  return { node, graph, input, ports, signal, run, view: toView(given) };
}

function graphAround({ type, data, edges = [[null, 'next']], meta, nodes = [] }: NodeCase): WorkflowGraph {
  const targets = [...new Set(edges.map(([, target]) => target))].map((id) => ({
    id,
    type: 'agent',
    data: { label: id.toUpperCase(), description: `about ${id}`, model: 'm' },
  }));
  const own = { id: 'n', type, data: { label: 'Node', ...data } };
  const start = type === 'start' ? [] : [{ id: 'start', type: 'start', data: { label: 'Start' } }];
  const parsed = parseDocument({
    meta: { version: '2.0.0', name: 'flow', ...meta },
    nodes: [...start, own, ...targets, ...nodes].map((node) => ({ ...node, position: { x: 0, y: 0 } })),
    edges: edges.map(([sourceHandle, target], index) => ({ id: `e${index}`, source: 'n', target, sourceHandle })),
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  return toGraph(parsed.document);
}

function toView({ earlier = [], outputs = {}, inputs = {}, session = [], attachments = [] }: NodeCase): ScopeView {
  const earlierOutputs = earlier.map(({ nodeId, output }) => [nodeId, output] as const);
  return {
    workflowName: 'flow',
    sessionId: 'session-1',
    earlier,
    outputs: new Map([...earlierOutputs, ...Object.entries(outputs)]),
    inputs: new Map(Object.entries(inputs)),
    session,
    attachments,
  };
}
