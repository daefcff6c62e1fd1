import { Inject, Injectable } from '@nestjs/common';

import { LOGGER, type Logger, Metrics } from '#platform';

import type { ToolOutcome } from './execute-tool-call.js';
import type { Tool } from './tool.js';

/** A call that ended, for the log. */
interface EndedToolCall {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly callId: string;
}

/** Metrics and log lines of the tool calls that this process runs, for its jobs or from the tool queue. */
@Injectable()
export class ToolCallTelemetry {
  private readonly started;
  private readonly completed;
  private readonly failed;
  private readonly seconds;

  constructor(
    metrics: Metrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.started = metrics.counter('background_tool_execution_started', 'Tool calls that started', ['tool_name']);
    this.completed = metrics.counter('background_tool_execution_completed', 'Tool calls that returned a result', [
      'tool_name',
    ]);
    this.failed = metrics.counter('background_tool_execution_failed', 'Tool calls that failed', [
      'tool_name',
      'error_type',
    ]);
    this.seconds = metrics.histogram('nightshift_tool_call_seconds', 'Duration of tool calls', {
      buckets: [0.001, 0.01, 0.1, 0.5, 1, 5, 10, 60],
      labelNames: ['tool_name'],
    });
  }

  toolStarted(tool: Tool): void {
    this.started.inc({ tool_name: labelOf(tool) });
  }

  /** Logs one line for each call, under the name of the metric that counts it. */
  toolEnded(tool: Tool, { workspaceId, jobId, callId }: EndedToolCall, outcome: ToolOutcome): void {
    const label = { tool_name: labelOf(tool) };
    const { durationMs } = outcome;
    this.seconds.observe(label, durationMs / 1_000);
    const ids = { workspace_id: workspaceId, job_id: jobId, call_id: callId };
    const details = { ...ids, ...label, duration_ms: Math.round(durationMs) };
    if (outcome.status === 'completed') {
      this.completed.inc(label);
      this.logger.info(details, 'background_tool_execution_completed');
    } else {
      const error = { error_type: outcome.failure.phase };
      this.failed.inc({ ...label, ...error });
      this.logger.info({ ...details, ...error }, 'background_tool_execution_failed');
    }
  }
}

/** Bounds the metric's labels: tools of workspaces are counted by their sort, not by name. */
function labelOf({ sort, name }: Tool): string {
  return sort === 'server' ? name : sort;
}
