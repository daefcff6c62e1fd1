import { createHash } from 'node:crypto';

import { Injectable } from '@nestjs/common';

import type { AddressedMessage } from '#platform';

import type { JobRef } from '../job.js';
import type { JobEventType, NewJobEvent } from './job-event.js';

/** The kinds of actions. An action is code of a higher layer that runs after a row was committed, and does not change that row. */
export const actionKinds = ['onInterrupt', 'onJobFinished', 'onNotification'] as const;
export type ActionKind = (typeof actionKinds)[number];

/** An action that this process knows. */
export interface KnownAction {
  readonly on: ActionKind;
  /** The name of the hook, unique. */
  readonly hook: string;
}

/** A notification commits with the event that caused it, so its actions need no event of their own. */
const triggering: Readonly<Record<ActionKind, readonly JobEventType[]>> = {
  onInterrupt: ['interrupt-opened'],
  onJobFinished: ['job-finished'],
  onNotification: ['interrupt-opened', 'job-finished'],
};

interface ActionTrigger extends KnownAction {
  readonly type: JobEventType;
}

/**
 * The actions of this process, which a higher layer registers while the process boots. Each event that triggers one is written together
 * with a queue message for it. Without actions, the statements are the same as if actions did not exist.
 */
@Injectable()
export class EventActions {
  private triggers: readonly ActionTrigger[] = [];

  register(actions: readonly KnownAction[]): void {
    this.triggers = actions.flatMap((action) => triggering[action.on].map((type) => ({ ...action, type })));
  }

  /** Whether a write of these events sends messages. */
  concern(events: readonly NewJobEvent[]): boolean {
    return (
      this.triggers.length > 0 && events.some(({ type }) => this.triggers.some((trigger) => trigger.type === type))
    );
  }

  /** Identifies the text of `messagesSql`. */
  get digest(): string {
    return createHash('sha256').update(JSON.stringify(this.triggers)).digest('hex').slice(0, 16);
  }

  /** The queue messages for the relation `logged` of written events, for `Queues.insertionOf`. */
  messagesSql(logged: string): string {
    return `SELECT gen_random_uuid() AS id, jsonb_build_object('workspaceId', l.workspace_id, 'jobId', l.job_id,
      'interruptId', l.body->>'interruptId', 'on', a."on", 'hook', a.hook) AS data, a.hook AS "groupId"
    FROM ${logged} l JOIN json_to_recordset(${literal(this.triggers)}::json) AS a(type text, "on" text, hook text) ON a.type = l.type`;
  }

  /** Like `messagesSql`, for a statement that does not send the messages itself. */
  messagesOf({ workspaceId, jobId }: JobRef, events: readonly NewJobEvent[]): AddressedMessage[] {
    return events.flatMap(({ type, body }) => {
      const interruptId = type === 'interrupt-opened' ? body.interruptId : null;
      return this.triggers
        .filter((trigger) => trigger.type === type)
        .map(({ on, hook }) => ({
          queue: 'hook.action' as const,
          data: { workspaceId, jobId, interruptId, on, hook },
          group: { id: hook },
        }));
    });
  }
}

function literal(value: unknown): string {
  return `'${JSON.stringify(value).replaceAll("'", "''")}'`;
}
