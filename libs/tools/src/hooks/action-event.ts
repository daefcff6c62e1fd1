import type { HookedEnd, HookedInterrupt, HookedNotification } from '@nightshift/plugin';

import { type ActionJob, type Interrupt, isTerminal, type JobNotification } from '#jobs';

/** The end of a job in the format of hooks; null: the job has not ended. */
export function toHookedEnd(job: ActionJob): HookedEnd | null {
  const { status, finishedAt, reason, error, parentJobId, model, rounds, toolCalls } = job;
  if (!isTerminal(status) || finishedAt === null) return null;
  const { promptTokens, completionTokens, createdAt, startedAt } = job;
  return {
    ...{ status, reason, error, parentJobId, model, rounds, toolCalls, promptTokens, completionTokens },
    ...{ createdAt, startedAt, finishedAt },
  };
}

export function toHookedInterrupt(interrupt: Interrupt): HookedInterrupt {
  const { id, kind, status, title, request, callId, tool, nodeId, rootJobId, createdAt, expiresAt } = interrupt;
  return { id, kind, status, title, request, callId, tool, nodeId, rootJobId, createdAt, expiresAt };
}

export function toHookedNotification(notification: JobNotification): HookedNotification {
  const { id, type, userId, rootJobId, threadId, threadName, interruptId, title, createdAt, readAt } = notification;
  return { id, type, userId, rootJobId, threadId, threadName, interruptId, title, createdAt, readAt };
}
