import { Inject, Injectable } from '@nestjs/common';

import { BUS, type Bus, type Clock, systemClock, TOOL_QUEUES } from '#platform';

import type { CallAnswer } from './call-execution.js';
import type { ClaimedCall } from './exec-claims.repository.js';
import type { ProgressChunk } from './progress-sender.js';
import type { ToolProgressMessage, ToolResponse } from './queue-message.js';
import { ToolMessagesRepository } from './tool-messages.repository.js';
import { ToolQueueTelemetry } from './tool-queue.telemetry.js';

const firstPauseMs = 250;
const longestPauseMs = 4_000;

/** What a tool process sends back. */
@Injectable()
export class ToolOutbox {
  private readonly clock: Clock = systemClock;

  constructor(
    private readonly messages: ToolMessagesRepository,
    @Inject(BUS) private readonly bus: Bus,
    private readonly telemetry: ToolQueueTelemetry,
  ) {}

  /** Rejects when it cannot be sent now. */
  async progress(call: ClaimedCall, chunk: ProgressChunk): Promise<void> {
    const message: ToolProgressMessage = {
      type: 'tool_progress',
      ...placeOf(call),
      ...chunk,
      timestamp: this.clock.now(),
      exec_epoch: call.epoch,
    };
    await this.send(call, message);
  }

  /**
   * Tries until the answer is in the queue, where it stays until it is applied, or until `timeoutMs` are over: then the claim
   * runs out and the call follows its effect.
   */
  async answer(call: ClaimedCall, answer: CallAnswer, timeoutMs: number): Promise<void> {
    const message: ToolResponse = {
      type: 'tool_response',
      ...placeOf(call),
      ...answer,
      timestamp: this.clock.now(),
      exec_epoch: call.epoch,
      attempt: call.attempt,
    };
    const giveUpAt = this.clock.monotonic() + timeoutMs;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        await this.send(call, message);
        this.telemetry.answered.inc({ status: answer.status });
        return;
      } catch (error) {
        const { workspaceId, jobId, id } = call;
        this.telemetry.logger.warn({ err: error, workspaceId, jobId, toolCallId: id }, 'a tool response was not sent');
        if (this.clock.monotonic() + pauseMs > giveUpAt) return;
      }
      await new Promise<void>((resolve) => this.clock.after(pauseMs, resolve));
    }
  }

  private async send(call: ClaimedCall, data: ToolProgressMessage | ToolResponse): Promise<void> {
    const { workspaceId, name } = call;
    await this.messages.send([{ queue: TOOL_QUEUES.results, data, workspaceId, topic: name }]);
    this.bus.publish('tool-queue', { workspaceId, queue: 'results' });
  }
}

function placeOf({ id, workspaceId, jobId }: ClaimedCall) {
  return { correlation_id: id, workspace_id: workspaceId, job_id: jobId };
}
