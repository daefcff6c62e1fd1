import { eventually } from '../harness/eventually.js';
import type { RecordedRequest, ScriptedModel } from '../harness/scripted-model.js';
import { createGate, type Gate, type Reply, textReply, toolCallReply } from '../harness/scripted-reply.js';
import type { SketchedNode } from '../harness/workflows.js';

interface Message {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly unknown[];
}

interface Held {
  readonly wanted: string;
  readonly gate: Gate;
  /** Requests until then. */
  left: number;
}

/**
 * The replies of the model by prompt: for a request whose prompt contains `line` as a line. Each round has its reply, which it
 * gets as often as it is asked for, so that a crash changes no answer.
 */
export class NodeScripts {
  private readonly replies = new Map<string, readonly Reply[]>();
  private readonly held = new Map<string, readonly Held[]>();

  constructor(private readonly model: ScriptedModel) {
    model.answer((request) => {
      const line = this.lineOf(request);
      const reply = line === undefined ? undefined : this.replies.get(line)?.[roundOf(request)];
      return line === undefined || reply === undefined
        ? undefined
        : this.reply(`${line} ${roundOf(request) + 1}`, reply);
    });
  }

  /** The replies of its rounds. */
  script(line: string, ...rounds: readonly Reply[]): void {
    this.replies.set(line, rounds);
  }

  /** The next reply to `<line> <round>`, or with `#<n>` the n-th from now on, stops in the middle until the gate is opened. */
  holdNext(wanted: string): Gate {
    const [round = '', count = '1'] = wanted.split('#');
    const held: Held = { wanted, gate: createGate(), left: Number(count) };
    this.held.set(round, [...(this.held.get(round) ?? []), held]);
    return held.gate;
  }

  /** Resolves once the reply is held. */
  async isHeld(wanted: string): Promise<void> {
    const waits = () => [...this.held.values()].flat().some((one) => one.wanted === wanted && one.left > 0);
    await eventually(`${wanted} is asked`, () => (waits() ? undefined : true));
  }

  /** How often each `<line> <round>` was asked, from the `first` request on. */
  asked(first = 0): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const request of this.model.requests.slice(first)) {
      const name = `${this.lineOf(request) ?? '?'} ${roundOf(request) + 1}`;
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  }

  private reply(round: string, { body, ...reply }: Reply): Reply {
    const due = (this.held.get(round) ?? []).filter((one) => {
      one.left -= 1;
      return one.left === 0;
    });
    return { ...reply, body: [...body.slice(0, 2), ...due.map(({ gate }) => gate), ...body.slice(2)] };
  }

  private lineOf(request: RecordedRequest): string | undefined {
    const first = messagesOf(request).slice(0, 2);
    const lines = first.flatMap(({ content }) => (typeof content === 'string' ? content.split('\n') : []));
    return lines.find((line) => this.replies.has(line));
  }
}

function roundOf(request: RecordedRequest): number {
  const messages = messagesOf(request);
  const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  return since.filter(({ tool_calls: calls = [] }) => calls.length > 0).length;
}

function messagesOf({ json }: RecordedRequest): readonly Message[] {
  return json['messages'] as readonly Message[]; // as the model client writes them
}

/** An agent with this prompt, which its script goes by. */
export function agent(prompt: string, data: object = {}): SketchedNode {
  return { type: 'agent', model: 'scripted', prompt, ...data };
}

export function say(...texts: readonly string[]): Reply {
  return textReply(texts);
}

export function call(name: string, args: object = {}): Reply {
  return toolCallReply([{ id: `call_${name}`, name, arguments: JSON.stringify(args) }]);
}
