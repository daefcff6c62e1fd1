import { Injectable } from '@nestjs/common';

import { Metrics } from '#platform';
import type { ToolOutcome } from '#tools';

/** Metrics of tool calls. Tool names come from the registry, so the set of labels is bounded. */
@Injectable()
export class ChatTelemetry {
  private readonly started;
  private readonly completed;
  private readonly failed;
  private readonly seconds;

  constructor(metrics: Metrics) {
    this.started = metrics.counter('background_tool_execution_started', 'Tool calls begun', ['tool_name']);
    this.completed = metrics.counter('background_tool_execution_completed', 'Tool calls that gave a result', [
      'tool_name',
    ]);
    this.failed = metrics.counter('background_tool_execution_failed', 'Tool calls that gave none', [
      'tool_name',
      'error_type',
    ]);
    this.seconds = metrics.histogram('nightshift_tool_call_seconds', 'How long tool calls ran', {
      buckets: [0.001, 0.01, 0.1, 0.5, 1, 5, 10, 60],
      labelNames: ['tool_name'],
    });
  }

  toolStarted(tool: string): void {
    this.started.inc({ tool_name: tool });
  }

  toolEnded(tool: string, outcome: ToolOutcome): void {
    this.seconds.observe({ tool_name: tool }, outcome.durationMs / 1_000);
    if (outcome.status === 'completed') this.completed.inc({ tool_name: tool });
    else this.failed.inc({ tool_name: tool, error_type: outcome.status });
  }
}
