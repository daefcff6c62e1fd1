import type { JobRun } from '#jobs';
import type { ChatMessage, MessageContent } from '#models';
import { crashpoint, toStorableText } from '#platform';
import { projectResult } from '#tools';

import type {
  Attachment,
  CalledTool,
  Conversed,
  Conversing,
  MemoryEntry,
  NodePorts,
  PersonAnswer,
  Question,
  ScopeView,
} from '../engine/node-executor.js';
import type { NodeRunRow } from '../engine/node-run.js';
import type { LeaseContext } from './lease-context.js';
import { memoryRow } from './memory.repository.js';
import { nodeRunId } from './node-events.js';
import { NodeView, type Showing } from './node-view.js';
import { PluginRun } from './plugin-run.js';

type Fetched = Parameters<NodePorts['fetch']>[0];
type Wait = Parameters<NodePorts['waitFor']>[0];
type BranchEnd = Parameters<NodePorts['branchFinished']>[2];

/**
 * The actions of a node run outside the engine. They use the run of its job, so none outlives the lease, and the results of committed ones are
 * reused. Only `fetch` may repeat a request after a crash.
 */
export class RunningNode implements NodePorts {
  private readonly job: JobRun['job'];
  constructor(
    private readonly context: LeaseContext,
    private readonly row: NodeRunRow,
    private readonly view: ScopeView,
    private readonly options: {
      readonly signal: AbortSignal;
      readonly isContent: boolean;
    },
  ) {
    this.job = context.run.job;
  }

  /** Commits before the model call, so that a crash does not repeat earlier work. */
  async converse(request: Conversing): Promise<Conversed> {
    await this.context.run.commit();
    const { branch, signal, messages: whole, ...asked } = request;
    const { messages, leftOut } = compactSession(whole, this.context.contextTokens);
    if (leftOut > 0 && this.isUnpublished('compacted')) {
      this.warn('SESSION_COMPACTED', `The ${leftOut} oldest messages of the session are more than the model can read.`);
    }
    const isContent = this.options.isContent && branch === undefined;
    const view = this.viewOf(branch ?? null, { isShown: asked.isShown, isContent, signal });
    return this.context.conversations.converse(view, { ...asked, messages });
  }

  async callTool(call: { readonly name: string; readonly arguments: string }): Promise<CalledTool> {
    return this.context.conversations.callTool(this.viewOf(null, { isShown: false, isContent: false }), call);
  }

  ask(question: Question): Promise<PersonAnswer> {
    const { row, view } = this;
    return Promise.resolve(this.context.questions.ask({ row, view }, question, this.now()));
  }

  async toolSchema(name: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const tools = await this.context.services.catalog.of(this.job.workspaceId);
    return tools.definitionOf(name)?.function.parameters;
  }

  remember(text: string, metadata: Readonly<Record<string, unknown>>): Promise<void> {
    const { sessionId } = this.view;
    const memory = { nodeRun: this.row.ordinal, sessionId, text: toStorableText(text), metadata };
    this.context.run.append({ rows: [memoryRow(this.job, memory)] });
    return Promise.resolve();
  }

  async recall(query: Parameters<NodePorts['recall']>[0]): Promise<readonly MemoryEntry[]> {
    await this.context.run.commit(); // so that the memory contains what other nodes stored
    const { workspaceId } = this.job;
    return this.context.services.memory.recall({ workspaceId, sessionId: this.view.sessionId, ...query });
  }

  /** A request that may change something carries the id of its node run, so that the receiver can detect a repetition. */
  fetch(request: Fetched): ReturnType<NodePorts['fetch']> {
    // During a request, a process that stops must not treat the job as one that waits for a model.
    return this.context.run.activity.track(this.send(request));
  }

  private async send({ method, url, headers, body, timeoutMs }: Fetched) {
    const { run, services } = this.context;
    const hosts = await services.hosts.of(this.job.workspaceId);
    const isRead = method === 'GET' || method === 'HEAD';
    await run.commit();
    run.assertValid();
    crashpoint('before-node-request');
    const answer = await services.fetch.request({
      ...{ method, url, hosts, signal: this.options.signal },
      headers: isRead ? headers : { 'idempotency-key': `${this.job.jobId}:${this.row.ordinal}`, ...headers },
      ...(body === null ? {} : { body }),
      limits: { firstByteMs: null, idleMs: null, totalMs: timeoutMs, maxRedirects: isRead ? 3 : 0 },
    });
    crashpoint('after-node-request');
    return {
      status: answer.status,
      text: await services.redactor.of(this.job.workspaceId).redactLong(new TextDecoder().decode(answer.body)),
    };
  }

  waitFor({ at, event }: Wait): ReturnType<NodePorts['waitFor']> {
    const now = this.now();
    if (at !== null && at <= now && event === null) {
      return Promise.resolve({ type: 'over', timedOut: true, data: undefined });
    }
    const { row, view } = this;
    const answer = this.context.questions.wait({ row, view }, { event, at }, now);
    if (answer.type === 'waiting') return Promise.resolve(answer);
    return Promise.resolve({ type: 'over', timedOut: answer.action === 'timeout', data: answer.data });
  }

  runPlugin(type: string, given: Readonly<Record<string, unknown>>): ReturnType<NodePorts['runPlugin']> {
    return new PluginRun(this.context, this.row).run(type, { given, signal: this.options.signal });
  }

  warn(code: string, text: string): void {
    const { nodeId } = this.row;
    this.context.run.append({ events: [{ type: 'warning', body: { code, text: toStorableText(text), nodeId } }] });
  }

  branchStarted(branchId: string, label: string): void {
    if (!this.isUnpublished(`${branchId} started`)) return;
    this.context.run.append({ events: [{ type: 'branch-started', body: this.branchOf(branchId, label) }] });
  }

  branchFinished(branchId: string, label: string, end: BranchEnd): void {
    if (!this.isUnpublished(`${branchId} finished`)) return;
    const outcome =
      'error' in end
        ? {
            status: 'error' as const,
            output: '',
            error: toStorableText(end.error),
            ...(end.retryable && { retryable: true }),
          }
        : { status: 'completed' as const, output: projectResult(toStorableText(end.output), 'ui') };
    const body = { ...this.branchOf(branchId, label), ...outcome };
    this.context.run.append({ events: [{ type: 'branch-finished', body }] });
  }

  /** No model reports what it accepts, so images and files are allowed, as in chat. */
  modelTakes(_model: string | null, type: Attachment['type']): Promise<boolean> {
    return Promise.resolve(type === 'image' || type === 'file');
  }

  now(): number {
    return Date.now();
  }

  private branchOf(branchId: string, label: string) {
    return { nodeRunId: nodeRunId(this.job.jobId, this.row), nodeId: this.row.nodeId, branchId, label };
  }

  /** Returns whether the event was not published yet, by this node run or by a crashed worker. */
  private isUnpublished(what: string): boolean {
    const published = this.context.facts.publishedOf(this.row.ordinal);
    const isUnpublished = !published.has(what);
    published.add(what);
    return isUnpublished;
  }

  private viewOf(branch: string | null, shown: Showing & { readonly signal?: AbortSignal | undefined }): NodeView {
    const { ordinal: nodeRun, nodeId, path } = this.row;
    const { signal: own } = this.options;
    const signal = shown.signal === undefined ? own : AbortSignal.any([shown.signal, own]);
    const { isShown, isContent } = shown;
    const node = { nodeRun, nodeId, path, branch };
    return new NodeView(this.context.run, node, signal, { isShown, isContent, tally: this.context.facts });
  }
}

/** This part of the context window, in tokens, stays free for the response and the tools; a small model keeps at least this much. */
const reserved = 10_000;
const least = 1_000;
/** The newest messages always stay, however long they are. */
const newest = 5;
/** An estimate: the exact counts would need the tokenizers of the providers. */
const charactersPerToken = 4;
const tokensPerPiece = 1_000;

/** The messages sent to a model, and how many were left out. */
export interface Compacted {
  readonly messages: readonly ChatMessage[];
  readonly leftOut: number;
}

/**
 * Shortens a conversation to the context window of the model: the oldest messages are dropped first, and system messages and the five newest stay.
 * Pure, linear.
 */
export function compactSession(messages: readonly ChatMessage[], contextTokens: number): Compacted {
  const limit = Math.max(least, contextTokens - reserved);
  const tokens = messages.map(tokensOf);
  let total = tokens.reduce((sum, count) => sum + count, 0);
  const mayGo = messages.slice(0, -newest).map(({ role }) => role !== 'system');
  const kept = messages.filter((_, i) => {
    if (total <= limit || mayGo[i] !== true) return true;
    total -= tokens[i] ?? 0;
    return false;
  });
  return { messages: kept, leftOut: messages.length - kept.length };
}

function tokensOf(message: ChatMessage): number {
  const content = message.content === null ? 0 : lengthOf(message.content);
  const calls = message.role === 'assistant' ? JSON.stringify(message.tool_calls ?? []).length : 0;
  return Math.ceil((content + calls) / charactersPerToken);
}

function lengthOf(content: MessageContent): number {
  if (typeof content === 'string') return content.length;
  const piece = tokensPerPiece * charactersPerToken;
  return content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : piece), 0);
}
