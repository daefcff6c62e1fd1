import type { Clock } from '#platform';

import type { EventLog } from '../events/event-log.js';
import type { Renewed } from './lease.repository.js';
import type { FlushPolicy } from './pending-write.js';

type AskedLease = Pick<Renewed, 'cancelRequested' | 'answered'> & Partial<Pick<Renewed, 'reason'>>;

/** The values that a run gets from its process. */
export interface JobRunOptions {
  readonly log: EventLog;
  readonly clock: Clock;
  readonly flush: FlushPolicy;
  /** Reads the lease after a write was refused; undefined: the fence refused it. */
  readonly askLease: () => Promise<AskedLease | undefined>;
  /** Whether the lease is still valid on the monotonic clock. */
  readonly isValid: () => boolean;
}
