import type { MemberPrincipal } from '#auth';
import type { Workflow } from '#workflows';
import { StartWorkflowService, WorkflowsService } from '#workflows';

import type { TestEngine } from './engine.js';

/** A node as definitions write it; `data` gets a default label. */
export interface SketchedNode {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** `from -> to`, or `from.handle -> to`. */
export type SketchedEdge = string;

/** A definition in few words: nodes by id, `start` is added. */
export function sketch(
  nodes: Readonly<Record<string, SketchedNode>>,
  edges: readonly SketchedEdge[],
  meta: { readonly name: string; readonly [member: string]: unknown },
): object {
  const all: Readonly<Record<string, SketchedNode>> = { start: { type: 'start' }, ...nodes };
  return {
    meta: { version: '2.0.0', ...meta },
    nodes: Object.entries(all).map(([id, { type, ...data }], i) => ({
      ...{ id, type, position: { x: 0, y: i * 100 } },
      data: { label: id, ...data },
    })),
    edges: edges.map((text, i) => {
      const [from = '', target = ''] = text.split(' -> ');
      const [source = '', ...handle] = from.split('.');
      return { id: `e${i}`, source, target, ...(handle.length === 0 ? {} : { sourceHandle: handle.join('.') }) };
    }),
  };
}

type Serving = Pick<TestEngine, 'app'>;

/** Saves and publishes a definition. */
export async function publish({ app }: Serving, owner: MemberPrincipal, definition: object): Promise<Workflow> {
  const { id } = await app.get(WorkflowsService).save(owner, { id: null, definition, expectedVersion: null });
  return (await app.get(WorkflowsService).publish(owner, id)).workflow;
}

/** Publishes another version of a workflow. */
export async function republish(
  { app }: Serving,
  owner: MemberPrincipal,
  next: { readonly id: string; readonly definition: object },
): Promise<void> {
  await app.get(WorkflowsService).save(owner, { ...next, expectedVersion: null });
  await app.get(WorkflowsService).publish(owner, next.id);
}

/** The input of a workflow start. */
export interface WorkflowInput {
  readonly workflow: Workflow;
  readonly prompt: string;
  /** The client's id of a thread, which is created; default: the job belongs to none. */
  readonly thread?: string;
  /** The conversation before the prompt. */
  readonly history?: readonly { readonly role: 'user' | 'assistant'; readonly content: string }[];
}

/** Starts a published workflow; returns the job id. */
export async function startWorkflow(
  { app }: Serving,
  principal: MemberPrincipal,
  { workflow, prompt, thread, history = [] }: WorkflowInput,
): Promise<string> {
  const { jobId } = await app.get(StartWorkflowService).start(principal, {
    ...{
      workflowRef: workflow.id,
      version: null,
      prompt,
      threadRef: thread ?? null,
      createThread: thread !== undefined,
    },
    ...{ messageClientId: null, history, attachments: [], whenBusy: null, idempotency: null, providerKey: null },
    ...{ known: {}, resumeFrom: null },
  });
  return jobId;
}
