import type { Connection } from './connection.js';
import { JobEventsDocument, type JobEventsSubscription, type JobStatus } from './generated/graphql.js';
import { NightshiftError } from './nightshift-error.js';
import { resubscribe } from './resubscribe.js';

/** One event of a job, or a snapshot in place of some events. `__typename` is its kind; more kinds may be added. */
export type JobEvent = JobEventsSubscription['jobEvents'];

/** The event of one kind: `JobEventOf<'TextDeltaEvent'>`. */
export type JobEventOf<Kind extends JobEvent['__typename']> = Extract<JobEvent, { readonly __typename: Kind }>;

export interface Following {
  readonly jobId: string;
  /** The number of the last event that the reader has; undefined: begin with a snapshot. */
  readonly after: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Follows the log of a job from a number on, across lost connections: every event once and in order, or a snapshot for events that the
 * server no longer has. Ends after the end of the job. Throws if the caller may not read the job, if no attempt is left, and when `signal`
 * aborts.
 */
export async function* followJob(
  connection: Connection,
  { jobId, after, signal }: Following,
): AsyncGenerator<JobEvent, void, undefined> {
  let cursor = after;
  const variables = () => ({ jobId, after: cursor });
  for await (const { jobEvents: event } of resubscribe(connection, JobEventsDocument, { variables, signal })) {
    // A snapshot replaces all earlier events.
    if (event.__typename !== 'JobSnapshotEvent' && cursor !== undefined) {
      if (event.seq <= cursor) continue;
      if (event.seq > cursor + 1)
        throw new NightshiftError(`After number ${cursor} came ${event.seq}`, { code: 'bad_response' });
    }
    cursor = event.seq;
    yield event;
    if (isEnd(event)) return;
  }
}

const ends: ReadonlySet<JobStatus> = new Set(['COMPLETED', 'FAILED', 'CANCELLED']);

/** Whether a job in this status has ended. */
export function isTerminal(status: JobStatus): boolean {
  return ends.has(status);
}

/** Whether no event follows. */
function isEnd(event: JobEvent): boolean {
  return (
    event.__typename === 'JobFinishedEvent' || (event.__typename === 'JobSnapshotEvent' && isTerminal(event.status))
  );
}
