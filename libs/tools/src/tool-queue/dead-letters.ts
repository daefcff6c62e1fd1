import { Injectable } from '@nestjs/common';

import { isId, systemClock, TOOL_QUEUES } from '#platform';

import type { DeadLetter, DeadReason } from './dead-letter.js';
import { ToolMessagesRepository } from './tool-messages.repository.js';

const largestKeptBytes = 65_536;

/** Stores messages that cannot be processed. */
@Injectable()
export class DeadLetters {
  constructor(private readonly messages: ToolMessagesRepository) {}

  /** Keeps a message for diagnosis. */
  async bury(message: unknown, reason: DeadReason): Promise<void> {
    const letter = toDeadLetter(message, reason);
    await this.messages.send([
      { queue: TOOL_QUEUES.dead, data: letter, workspaceId: letter.workspace_id, topic: reason },
    ]);
  }
}

/** Extracts the fields that a message has about itself; none of them is trusted. */
export function toDeadLetter(message: unknown, reason: DeadReason): DeadLetter {
  const said = typeof message === 'object' && message !== null ? (message as Record<string, unknown>) : {}; // an object has members
  const idOf = (name: string) => {
    const value = said[name];
    return typeof value === 'string' && isId(value) ? value : null;
  };
  const bytes = Buffer.byteLength(JSON.stringify(message ?? null));
  return {
    type: 'dead_letter',
    reason,
    workspace_id: idOf('workspace_id'),
    job_id: idOf('job_id'),
    correlation_id: idOf('correlation_id'),
    timestamp: systemClock.now(),
    message: bytes <= largestKeptBytes ? message : { _omitted: true, bytes },
  };
}
