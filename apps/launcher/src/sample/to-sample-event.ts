import { z } from 'zod';

import type { SampleEvent } from './sample-event.js';

const text = z.object({ __typename: z.literal('TextDeltaEvent'), text: z.string() });
const started = z.object({ __typename: z.literal('RoundStartedEvent'), round: z.number(), model: z.string() });
const restarted = z.object({ __typename: z.literal('RoundRestartedEvent'), round: z.number() });
const call = z.object({
  __typename: z.enum(['ToolCallEvent', 'ToolCallUpdatedEvent']),
  toolCall: z.object({
    callId: z.string(),
    name: z.string(),
    status: z.string(),
    arguments: z.string(),
    result: z.string().nullable(),
    error: z.string().nullable(),
  }),
});
const waiting = z.object({ __typename: z.literal('JobWaitingEvent') });
const finished = z.object({
  __typename: z.literal('JobFinishedEvent'),
  status: z.string(),
  reason: z.string(),
  error: z.object({ message: z.string() }).nullish(),
});
const known = z.discriminatedUnion('__typename', [text, started, restarted, call, waiting, finished]);

const openStatuses = ['PENDING', 'RUNNING', 'AWAITING_APPROVAL', 'AWAITING_CLIENT'];

/** Reads an entry of `jobEvents`; null for what the sample does not show. Pure. */
export function toSampleEvent(entry: unknown): SampleEvent | null {
  const parsed = known.safeParse(entry);
  if (!parsed.success) return null;
  const event = parsed.data;
  switch (event.__typename) {
    case 'TextDeltaEvent':
      return { type: 'text', text: event.text };
    case 'RoundStartedEvent':
      return { type: 'round-started', round: event.round, model: event.model };
    case 'RoundRestartedEvent':
      return { type: 'round-restarted', round: event.round };
    case 'ToolCallEvent':
    case 'ToolCallUpdatedEvent': {
      const { callId: id, name, status, arguments: args, result, error } = event.toolCall;
      const isSettled = !openStatuses.includes(status);
      return { type: 'tool-call', id, name, isSettled, args, outcome: result ?? error ?? status.toLowerCase() };
    }
    case 'JobWaitingEvent':
      return { type: 'waiting' };
    case 'JobFinishedEvent':
      return {
        type: 'finished',
        status: event.status.toLowerCase(),
        reason: event.error?.message ?? event.reason,
      };
    default:
      return event satisfies never;
  }
}
