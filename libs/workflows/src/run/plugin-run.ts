import type { NodeContext } from '@nightshift/plugin';

import { CallProgress, unlessCancelled } from '#chat';
import {
  AppError,
  crashpoint,
  DatabaseUnavailable,
  defined,
  systemClock,
  toStorableText,
  unlessAborted,
} from '#platform';
import { storeArtifacts } from '#tools';

import type { JsonObject } from '../definition/json.js';
import { LIMITS } from '../definition/limits.js';
import { NodeFailure, type NodePorts, type Waiting } from '../engine/node-executor.js';
import type { NodeRunRow } from '../engine/node-run.js';
import { refusal, toNodeError } from '../nodes/to-node-error.js';
import type { PluginNode } from '../plugin-nodes/plugin-nodes.js';
import type { LeaseContext } from './lease-context.js';
import { nodeRunId } from './node-events.js';
import type { NodeQuestions } from './node-questions.js';
import { nodeRunRow } from './node-run.part.js';
import { missingPlugin, unknownNodeOutcome } from './plugin-requests.js';

type Ran = Awaited<ReturnType<NodePorts['runPlugin']>>;

/** The data of the node, and the signal that stops it. */
interface Work {
  readonly given: JsonObject;
  readonly signal: AbortSignal;
}

const MAX_REASON_LENGTH = 1_000;
/** Maximum number of waits for a plugin; with growing intervals, about seven days. */
const MAX_WAITS = 170;
const FIRST_WAIT_MS = 10_000;
const MAX_WAIT_MS = 3_600_000;

/**
 * Runs the code of a plugin for a node run. The number of each attempt is committed before the code runs, so a later worker knows that the
 * effect may have happened: it repeats a `pure` or `idempotent` node with the same key, and asks a person about a `once` node.
 */
export class PluginRun {
  constructor(
    private readonly context: LeaseContext,
    private readonly row: NodeRunRow,
  ) {}

  async run(type: string, { given, signal }: Work): Promise<Ran> {
    const { plugins } = this.context.services;
    const node = plugins.find(type);
    if (node === undefined) return this.awaitPlugin(type);
    const known = node.effect === 'once' ? this.outcomeOfLost(node, given) : null;
    if (known !== null) return known;
    const data = await unlessAborted(signal, () => node.parse(given)); // the checks of a schema may be asynchronous
    const attempt = await this.begin(node);
    const value = await this.supervised(node, { data, attempt, signal });
    return { type: 'finished', text: this.textOf(node, value) };
  }

  /** Waits for a process that has the plugin: until the request expires, or a person decides. */
  private awaitPlugin(type: string): Waiting {
    const { questions } = this.context;
    const waits = questions.count(this.row.ordinal, 'plugin@');
    const newest = waits === 0 ? null : questions.find(this.row.ordinal, `plugin@${waits}`);
    if (newest?.status === 'open') return { type: 'waiting', interruptIds: [newest.id] };
    if (newest?.outcome?.outcome === 'give_up')
      throw refusal(
        `No plugin of this server defines nodes of the type "${type}". A member chose to stop waiting for it.`,
      );
    if (waits === MAX_WAITS) throw refusal(`No plugin of this server defines nodes of the type "${type}".`);
    const delayMs = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(30, waits));
    const about = { type, waits, at: systemClock.now() + delayMs };
    const key = `plugin@${waits + 1}`;
    return this.opened(
      questions.request(this.row.ordinal, key, () => missingPlugin(this.context.run.job, this.row, { key, ...about })),
    );
  }

  /** The decision of a person about an attempt of an earlier worker; null: no such attempt, or the person chose to repeat it. */
  private outcomeOfLost(node: PluginNode, given: JsonObject): Ran | null {
    const { facts, questions, run, services } = this.context;
    const attempt = facts.lostAttempt(this.row.ordinal);
    if (attempt === 0) return null;
    const key = `unknown@${attempt}`;
    const shown = services.redactor.of(run.job.workspaceId).redact(JSON.stringify(given));
    const about = { key, type: node.type, data: shown, startedAt: facts.of(this.row.ordinal).startedAt };
    const asked = questions.request(this.row.ordinal, key, () => unknownNodeOutcome(run.job, this.row, about));
    if (asked.status === 'open') return this.opened(asked);
    const { outcome, answer } = asked.outcome ?? {};
    if (outcome === 'repeat') return null;
    if (outcome === 'happened') return { type: 'finished', text: answer?.result ?? '' };
    const reason =
      outcome === 'did_not_happen' ? `It did not run${answer?.reason ? `: ${answer.reason}` : '.'}` : UNKNOWN_OUTCOME;
    throw refusal(reason);
  }

  private opened({ id }: ReturnType<NodeQuestions['request']>): Waiting {
    return { type: 'waiting', interruptIds: [id] };
  }

  /** Stores the start of an attempt, except for a `pure` node. Returns the number of the attempt. Throws after a cancel was acknowledged. */
  private async begin({ effect }: PluginNode): Promise<number> {
    const { run, facts } = this.context;
    const { ordinal } = this.row;
    const attempt = facts.beginAttempt(ordinal);
    if (effect === 'pure') return attempt;
    const write = { rows: [nodeRunRow(run.job, facts.completed(this.row), facts.of(ordinal))] };
    if (!(await unlessCancelled(run, () => run.commitUnlessCancelled(write)))) run.signal.throwIfAborted();
    run.assertValid();
    crashpoint('before-plugin-node');
    return attempt;
  }

  /** Does not wait for code that ignores its signal, and drops its late result. */
  private async supervised(
    node: PluginNode,
    { data, attempt, signal }: { readonly data: JsonObject; readonly attempt: number; readonly signal: AbortSignal },
  ): Promise<unknown> {
    const nodeContext = await this.contextOf(node, attempt, signal);
    const progress = this.progress();
    try {
      const report: NodeContext['progress'] = (shown) => {
        progress.report(shown);
      };
      const work = async () => {
        const value = await node.definition.run({ ...nodeContext, progress: report }, data);
        return storeArtifacts(value, nodeContext.files, signal);
      };
      return await this.context.run.activity.track(unlessAborted(signal, work));
    } catch (error) {
      signal.throwIfAborted();
      // A service of its context needed the database. The job is released, and the node runs again.
      if (error instanceof DatabaseUnavailable && node.effect !== 'once') throw error;
      throw this.toFailure(error);
    } finally {
      progress.close();
    }
  }

  private progress(): CallProgress {
    const { run, services } = this.context;
    const body = { nodeRunId: nodeRunId(run.job.jobId, this.row), nodeId: this.row.nodeId };
    const redactor = services.redactor.of(run.job.workspaceId);
    return new CallProgress(
      (_seq, shown) => {
        run.append({ events: [{ type: 'node-progress', body: { ...body, ...shown } }] });
      },
      { clock: systemClock, redactor },
    );
  }

  private async contextOf(
    { plugin, type }: PluginNode,
    attempt: number,
    signal: AbortSignal,
  ): Promise<Omit<NodeContext, 'progress'>> {
    const { run, services } = this.context;
    const { workspaceId, jobId, threadId, principal, workflowId } = run.job;
    const { ordinal, nodeId, input } = this.row;
    const userId = await services.contexts.userIdOf(workspaceId, principal);
    return {
      ...{ workspaceId, jobId, threadId, principal, userId, workflowId: workflowId ?? '' },
      ...{ nodeId, nodeRun: ordinal, input, attempt, idempotencyKey: `${jobId}:${ordinal}`, signal },
      now: () => systemClock.now(),
      ...services.contexts.servicesFor(plugin, { workspaceId, userId }, { jobId, nodeId, nodeRun: ordinal, type }),
    };
  }

  /** Text as it is, anything else as JSON; nothing is an empty text. */
  private textOf(node: PluginNode, value: unknown): string {
    node.assertOutput(value);
    let text: unknown;
    try {
      text = typeof value === 'string' ? value : JSON.stringify(value);
    } catch {
      throw refusal(`The output of "${node.type}" cannot be converted to JSON`);
    }
    if (typeof text !== 'string') return '';
    if (text.length > LIMITS.filledLength)
      throw new NodeFailure(`Node output exceeds ${LIMITS.filledLength} characters`, 'VALIDATION', { isFinal: true });
    return this.redact(text);
  }

  /** With the message of the error: plugins write them for people. */
  private toFailure(error: unknown): NodeFailure {
    if (error instanceof NodeFailure) return error;
    const { code, statusCode, rateLimit } = toNodeError(error, this.row.nodeId);
    const message = error instanceof Error || error instanceof AppError ? error.message : String(error);
    const reason = message.trim() === '' ? 'The code of the plugin failed without a reason' : message;
    return new NodeFailure(this.redact(reason).slice(0, MAX_REASON_LENGTH).toWellFormed(), code, {
      ...defined({ statusCode }),
      ...(rateLimit === undefined ? {} : { retryAfterMs: rateLimit.retryAfterMs }),
    });
  }

  private redact(text: string): string {
    return toStorableText(this.context.services.redactor.of(this.context.run.job.workspaceId).redact(text));
  }
}

const UNKNOWN_OUTCOME =
  'The worker stopped while the node ran, so it is unknown whether the node had its effect. It was not run again.';
