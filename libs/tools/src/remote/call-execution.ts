import { Injectable } from '@nestjs/common';

import { Draining } from '#jobs';
import { type Clock, Config, crashpoint, Redactor, systemClock } from '#platform';

import { ToolCatalog } from '../catalog/tool-catalog.js';
import { executeToolCall, type ToolOutcome } from '../execute-tool-call.js';
import { notRegistered, toolChanged } from '../model-text.js';
import type { SentFile } from '../plugins/file-outbox.js';
import { PluginContexts } from '../plugins/plugin-contexts.js';
import { StartChecks } from '../start-checks.js';
import type { Tool, ToolProgress } from '../tool.js';
import type { ToolFailure } from '../tool-call.js';
import { ToolCallTelemetry } from '../tool-call.telemetry.js';
import { ToolDidNothing } from '../tools.errors.js';
import { executionError } from '../validate-arguments.js';
import type { ClaimedCall } from './exec-claims.repository.js';
import type { ToolResponse } from './queue-message.js';

/** How a call ended in this process, without the fields of a message. */
export type CallOutcome = Pick<ToolResponse, 'status' | 'result' | 'error' | 'started' | 'needs_approval'>;

/** The controls of a running call. */
export interface CallControls {
  /** Aborts when this process loses the right to run the call, or stops. */
  readonly signal: AbortSignal;
  /** Whether the claim still holds, by the clock. */
  readonly isValid: () => boolean;
  readonly progress: (progress: ToolProgress) => void;
}

/** How long a tool may take to report its outcome after it was aborted. A process that shuts down does not wait that long. */
const stopTimeoutMs = 10_000;
const drainTimeoutMs = 500;

/** Runs one claimed call until it has a response. Never throws, and runs nothing that is no longer allowed. */
@Injectable()
export class CallExecution {
  private readonly clock: Clock = systemClock;

  constructor(
    private readonly catalog: ToolCatalog,
    private readonly checks: StartChecks,
    private readonly redactor: Redactor,
    private readonly telemetry: ToolCallTelemetry,
    private readonly config: Config,
    private readonly plugins: PluginContexts,
  ) {}

  /** Returns null if nothing was started and the reason cannot be reported now: the call should wait for another attempt. */
  async run(call: ClaimedCall, controls: CallControls): Promise<CallOutcome | null> {
    if (call.isLate) return tooLate(call);
    const found = await this.findTool(call).catch(() => null);
    if (found === null || 'status' in found) return found;
    return controls.isValid() && !controls.signal.aborted ? this.execute(call, found, controls) : null;
  }

  /** Removes secrets from the output of a tool, including those that the workspace of the call uses at that moment. */
  redact({ workspaceId }: Pick<ClaimedCall, 'workspaceId'>, text: string): string {
    return this.redactor.of(workspaceId).redact(text);
  }

  /** Checks the current policy, rights and tool, which may have changed while the call waited. Null: the call no longer exists. */
  private async findTool(call: ClaimedCall): Promise<Tool | CallOutcome | null> {
    const { workspaceId, name, toolVersion } = call;
    const tool = (await this.catalog.of(workspaceId)).find(name) ?? null;
    const answer = await this.checks.ask(call, tool);
    if (answer === null) return null;
    if (answer.type === 'refuse') return refused(notRegistered(name), 'approval');
    // The job itself opens the request, because it has the data that the request shows.
    if (answer.type === 'ask') return { ...refused(notRegistered(name), 'approval'), needs_approval: true };
    if (tool?.enabled !== true) return unavailable(name);
    return toolVersion === null || tool.version === toolVersion ? tool : refused(toolChanged(name), 'approval');
  }

  private async execute(call: ClaimedCall, tool: Tool, controls: CallControls): Promise<CallOutcome> {
    const watched = new WatchedTool(tool);
    const { workspaceId, jobId, threadId, principal, callId, idempotencyKey, epoch, attempt } = call;
    const outbox = this.plugins.outbox();
    this.telemetry.toolStarted(tool);
    const ended = executeToolCall({
      tool: watched.tool,
      arguments: call.arguments,
      context: {
        workspaceId,
        jobId,
        threadId,
        principal,
        callId,
        idempotencyKey,
        epoch,
        attempt,
        signal: controls.signal,
        now: () => this.clock.now(),
        progress: controls.progress,
        ...(outbox === null ? {} : { outbox }),
      },
      defaultTimeoutMs: this.config.values.TOOL_TIMEOUT_MS,
      clock: this.clock,
      redactor: this.redactor.of(call.workspaceId),
    });
    crashpoint('tool-in-flight');
    const outcome = await ended;
    this.telemetry.toolEnded(tool, call, outcome);
    if (controls.signal.aborted) await watched.settled(this.clock, timeoutMs(controls.signal));
    return toAnswer(outcome, watched, outbox?.files ?? []);
  }
}

/** Wraps a tool to track its handler: whether it was entered, and how it ended after the caller stopped waiting. */
class WatchedTool {
  readonly tool: Tool;
  private handling: Promise<unknown> | undefined;
  private didNothing = false;

  constructor(tool: Tool) {
    const { handler } = tool;
    this.tool = {
      ...tool,
      handler:
        handler &&
        ((args, context) => {
          const handling = handler(args, context);
          this.handling = handling.catch((error: unknown) => {
            this.didNothing = error instanceof ToolDidNothing;
          });
          return handling;
        }),
    };
  }

  /** Whether the handler may have had an effect. */
  get didStart(): boolean {
    return this.handling !== undefined && !this.didNothing;
  }

  /** Resolves when the handler has ended, or after `timeoutMs`. */
  async settled(clock: Clock, timeoutMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const timer = clock.after(timeoutMs, () => {
      resolve(undefined);
    });
    await Promise.race([this.handling, promise]);
    timer.cancel();
  }
}

function timeoutMs(signal: AbortSignal): number {
  return signal.reason instanceof Draining ? drainTimeoutMs : stopTimeoutMs;
}

function toAnswer(outcome: ToolOutcome, watched: WatchedTool, sent: readonly SentFile[]): CallOutcome {
  const started = watched.didStart;
  switch (outcome.status) {
    case 'completed': {
      const { result, whole, resultBytes } = outcome;
      const content = whole ?? result;
      const bytes = resultBytes === undefined ? {} : { bytes: resultBytes };
      const files = sent.length === 0 ? {} : { files: [...sent] };
      return { status: 'success', result: { content, success: true, ...bytes, ...files }, error: null, started };
    }
    case 'timed_out':
      return { status: 'timed_out', result: null, error: outcome.failure, started };
    case 'cancelled':
    case 'interrupted':
      return { status: 'cancelled', result: null, error: outcome.failure, started };
    case 'error':
    case 'skipped':
    case 'denied':
      return { status: 'error', result: null, error: outcome.failure, started };
  }
}

function refused(message: string, phase: ToolFailure['phase']): CallOutcome {
  return { status: 'error', result: null, error: { phase, message }, started: false };
}

function unavailable(name: string): CallOutcome {
  const error = { phase: 'execution', message: notRegistered(name), code: 'tool_unavailable' } as const;
  return { status: 'error', result: null, error, started: false };
}

function tooLate({ name, ttlMs }: ClaimedCall): CallOutcome {
  const message = executionError(name, `it was not started within ${ttlMs} ms`);
  return { status: 'timed_out', result: null, error: { phase: 'timeout', message }, started: false };
}
