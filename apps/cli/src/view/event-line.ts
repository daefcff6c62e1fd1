import type { JobEvent } from '@nightshift/client';

/** An event as one line of JSON: its kind as in PROTOCOL.md, its fields as in the GraphQL schema. */
export function toEventLine(event: JobEvent): Readonly<Record<string, unknown>> {
  const { __typename: type, ...members } = event;
  return { event: eventName(type), ...Object.fromEntries(Object.entries(members).map(renamed)) };
}

/** `TextDeltaEvent` is `text-delta`. */
export function eventName(type: JobEvent['__typename']): string {
  if (type === 'JobWarningEvent') return 'warning';
  if (type === 'JobSnapshotEvent') return 'snapshot';
  return type
    .replace(/Event$/, '')
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-')
    .toLowerCase();
}

/** Fields that one document cannot ask for under one name, since other events have another type there. */
const names: Readonly<Record<string, string>> = {
  progressOf: 'callId',
  roundStates: 'rounds',
  toolCallStates: 'toolCalls',
};

function renamed([name, value]: [string, unknown]): [string, unknown] {
  return [names[name] ?? name, value];
}
