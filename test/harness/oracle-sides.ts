import { runThere } from './oracle-library.js';
import { runHere } from './oracle-own.js';
import type { ModelCall, ModelReply, Played, World } from './oracle-world.js';
import { type NodeSketch, workflowDocument } from './workflow-document.js';

/** The result of a small definition on either side. */
export interface Sides {
  readonly there: Played;
  readonly here: Played;
}

type Reply = string | ModelReply | (() => ModelReply | Promise<ModelReply>);

/** Answers by the prompt of the calling agent; agents of `definition` have their ids in brackets. An unknown agent is an error. */
export function worldOf(replies: Readonly<Record<string, Reply>>, more: Partial<World> = {}): World {
  return {
    reply: (call) => {
      const reply = replies[whoAsks(call)];
      if (reply === undefined) throw new Error(`no reply is scripted for ${call.messages.join(', ')}`);
      return typeof reply === 'string' ? { text: reply } : typeof reply === 'function' ? reply() : reply;
    },
    ...more,
  };
}

/** The id of an agent, or the kind of the call. */
function whoAsks({ kind, messages }: ModelCall): string {
  return kind === 'text' ? (/<([^>]*)>/.exec(messages[0] ?? '')?.[1] ?? '') : kind;
}

export function definition(
  nodes: Readonly<Record<string, NodeSketch>>,
  edges: readonly string[],
  meta: object = {},
): object {
  const sketched = Object.entries({ start: 'start', ...nodes }).map(([id, node]): [string, NodeSketch] => {
    const [type, data] = typeof node === 'string' ? [node, {}] : node;
    const once = { mode: 'stop', retry: { maxRetries: 0, baseDelay: 1 } };
    return [
      id,
      [type, { label: `<${id}>`, ...(type === 'agent' ? { prompt: `<${id}>` } : {}), errorHandling: once, ...data }],
    ];
  });
  return workflowDocument(Object.fromEntries(sketched), edges, { name: '<flow>', ...meta });
}

export async function onBothSides(document: object, world: World): Promise<Sides> {
  return { there: await runThere(document, world), here: await runHere(document, world) };
}

/** The first user message of an agent, after its system message. */
export function readBy({ calls }: Played, agent: string): readonly string[] | undefined {
  return calls.find((call) => whoAsks(call) === agent)?.messages.slice(1);
}
