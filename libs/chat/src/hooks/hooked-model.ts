import type { HookedJob, HookedMessage } from '@nightshift/plugin';

import type { NewJobEvent } from '#jobs';
import type { ChatMessage, Model, ModelPart, ModelRequest, ModelUsage, RequestedCall, ToolDefinition } from '#models';
import { defined } from '#platform';
import { type AppliedHook, hookApplied, hookDenied, type Hooks } from '#tools';

import { repairConversation } from '../history/repair-conversation.js';
import { endedEarly, outputLimit } from '../loop/loop.errors.js';

/** Dependencies of the hooks of a conversation's model calls. */
interface ModelHooksInit {
  readonly model: Model;
  readonly hooks: Pick<Hooks, 'filter' | 'has'>;
  readonly job: () => Promise<HookedJob>;
  /** Maximum UTF-8 bytes of a response that are buffered. */
  readonly maxOutputBytes: number;
}

/** The result of `beforeModelCall` for a round. */
type Prepared =
  { readonly type: 'ask'; readonly change: Partial<ModelRequest> } | { readonly type: 'answer'; readonly text: string };

interface Collected {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly RequestedCall[];
  readonly finish: Extract<ModelPart, { type: 'finish' }>;
}

/**
 * A model whose requests and responses pass the hooks. Hooks of `beforeModelCall` run once a round, even if the round is requested again. If
 * a hook of `afterModelCall` applies to the job, a response is buffered until the hooks have run: viewers never see text that a hook removes.
 */
export class HookedModel implements Model {
  private round = 0;
  private prepared: Prepared | null = null;
  private hasRestarted = false;
  private changes: AppliedHook[] = [];
  private hidden: ReadonlySet<string> = new Set();
  private unreported: ModelUsage | null = null;

  constructor(private readonly init: ModelHooksInit) {}

  /** Call it before the first request of each round. */
  startRound(round: number): void {
    this.round = round;
    this.prepared = null;
    this.hasRestarted = false;
    this.changes = [];
    this.hidden = new Set();
  }

  /** Returns each event of the round's changes once. Append them to the write that ends the round. */
  takeEvents(): readonly NewJobEvent[] {
    const events = hookApplied(this.changes, { round: this.round });
    this.changes = [];
    return events;
  }

  /**
   * The tokens of complete responses that no finished response has reported, each once: a hook has rejected them, and the round was denied, or
   * the next request failed. Null: there are none.
   */
  takeUsage(): ModelUsage | null {
    const usage = this.unreported;
    this.unreported = null;
    return usage;
  }

  /** The tools that hooks removed from the request of the round. Calls of these tools must not run. */
  get withheld(): ReadonlySet<string> {
    return this.hidden;
  }

  async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<readonly ModelPart[], void, undefined> {
    const job = await this.init.job();
    this.prepared ??= await this.prepare(job, request, signal);
    if (this.prepared.type === 'answer') {
      yield [...textPart(this.prepared.text), { type: 'finish', finishReason: 'stop', usage: NO_USAGE }];
      return;
    }
    const changed = withChange(request, this.prepared.change);
    if (this.init.hooks.has('afterModelCall', { ...job, round: this.round, model: request.model }))
      yield await this.filtered(job, changed, signal);
    else yield* this.init.model.stream(changed, signal);
  }

  private async prepare(job: HookedJob, request: ModelRequest, signal: AbortSignal): Promise<Prepared> {
    const { hooks } = this.init;
    if (!hooks.has('beforeModelCall', { ...job, round: this.round, model: request.model }))
      return { type: 'ask', change: {} };
    const { model, messages, tools = [], parameters = {} } = request;
    const shown = tools.map(({ function: { name, description, parameters: schema } }) => ({
      name,
      ...defined({ description, parameters: schema }),
    }));
    // Messages of a provider have these members.
    const event = { ...job, round: this.round, model, messages: messages as readonly HookedMessage[] };
    const before = { ...event, tools: shown, parameters };
    const { event: after, end, applied } = await hooks.filter('beforeModelCall', before, { signal });
    this.changes.push(...applied);
    if (end?.type === 'denied') throw hookDenied(end);
    if (end?.type === 'answered') return { type: 'answer', text: end.text };
    const kept = new Map(after.tools.map((tool) => [tool.name, tool]));
    this.hidden = new Set(shown.flatMap(({ name }) => (kept.has(name) ? [] : [name])));
    return {
      type: 'ask',
      change: {
        ...(after.messages === before.messages
          ? {}
          : { messages: repairConversation(after.messages as readonly ChatMessage[]) }), // hook outcomes are validated by their schema
        ...(after.tools === shown ? {} : { tools: tools.flatMap((tool) => toDefinition(tool, kept)) }),
        ...(after.parameters === parameters ? {} : { parameters: after.parameters }),
      },
    };
  }

  private async filtered(job: HookedJob, first: ModelRequest, signal: AbortSignal): Promise<readonly ModelPart[]> {
    let request = first;
    for (;;) {
      const { text, reasoning, calls, finish } = await this.collect(request, signal);
      const usage = this.unreported === null ? finish.usage : sumOf(this.unreported, finish.usage);
      this.unreported = usage;
      const event = { ...job, round: this.round, model: request.model, text, toolCalls: calls };
      const shown = { inputTokens: usage.promptTokens, outputTokens: usage.completionTokens };
      const options = { signal, mayRestart: !this.hasRestarted };
      const after = await this.init.hooks.filter('afterModelCall', { ...event, usage: shown }, options);
      this.changes.push(...after.applied);
      if (after.end?.type === 'denied') throw hookDenied(after.end);
      if (after.end?.type !== 'restarted') {
        const left = calls.filter(({ callId }) => after.event.toolCalls.some((call) => call.callId === callId));
        this.unreported = null;
        const isAnswer = calls.length > 0 && left.length === 0;
        return [
          ...(reasoning === '' ? [] : [{ type: 'reasoning', text: reasoning } as const]),
          ...textPart(after.event.text),
          ...(left.length === 0 ? [] : [{ type: 'tool-calls', calls: left } as const]),
          { type: 'finish', finishReason: isAnswer ? 'stop' : finish.finishReason, usage },
        ];
      }
      this.hasRestarted = true;
      const note = `Your last response was rejected and was not shown to the user. Reason: ${after.end.reason} Respond again.`;
      request = { ...first, messages: [...first.messages, { role: 'system', content: note }] };
    }
  }

  private async collect(request: ModelRequest, signal: AbortSignal): Promise<Collected> {
    const { model, maxOutputBytes } = this.init;
    let [text, reasoning, bytes] = ['', '', 0];
    let calls: readonly RequestedCall[] = [];
    let finish: Collected['finish'] | null = null;
    for await (const batch of model.stream(request, signal))
      for (const part of batch) {
        if (part.type === 'tool-calls') calls = part.calls;
        else if (part.type === 'finish') finish = part;
        else {
          bytes += Buffer.byteLength(part.text);
          if (bytes > maxOutputBytes) throw outputLimit(maxOutputBytes);
          if (part.type === 'text') text += part.text;
          else reasoning += part.text;
        }
      }
    if (finish === null) throw endedEarly();
    return { text, reasoning, calls, finish };
  }
}

/** Removes a tool choice that names a removed tool, and any tool choice if no tool is left. */
function withChange(request: ModelRequest, change: Partial<ModelRequest>): ModelRequest {
  const { tools = [], toolChoice, ...changed } = { ...request, ...change };
  if (tools.length === 0) return changed;
  const isRemoved =
    typeof toolChoice === 'object' && tools.every((tool) => tool.function.name !== toolChoice.function.name);
  return { ...changed, tools, ...(toolChoice === undefined ? {} : { toolChoice: isRemoved ? 'auto' : toolChoice }) };
}

const NO_USAGE: ModelUsage = { promptTokens: 0, completionTokens: 0, totalTokens: 0, estimated: false };

function textPart(text: string): readonly ModelPart[] {
  return text === '' ? [] : [{ type: 'text', text }];
}

/** A tool with the changes that hooks made to it; empty if a hook removed the tool. */
function toDefinition(
  tool: ToolDefinition,
  kept: ReadonlyMap<string, Pick<ToolDefinition['function'], 'description' | 'parameters'>>,
): readonly ToolDefinition[] {
  const changed = kept.get(tool.function.name);
  return changed === undefined ? [] : [{ ...tool, function: { ...tool.function, ...changed } }];
}

function sumOf(a: ModelUsage, b: ModelUsage): ModelUsage {
  return {
    promptTokens: a.promptTokens + b.promptTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    totalTokens: a.totalTokens + b.totalTokens,
    estimated: a.estimated || b.estimated,
  };
}
