import type { Clock } from '#platform';

import type { EventLog } from '../events/event-log.js';
import type { Renewed } from './lease.repository.js';
import type { FlushPolicy } from './pending-write.js';

type AskedLease = Pick<Renewed, 'cancelRequested' | 'answered'> & Partial<Pick<Renewed, 'reason'>>;

/** What a run needs of its process. */
export interface JobRunOptions {
  readonly log: EventLog;
  readonly clock: Clock;
  readonly flush: FlushPolicy;
  /** Asks the database, after a write was refused, whether that was because of the fence: then there is no answer. */
  readonly askLease: () => Promise<AskedLease | undefined>;
  /** Whether the lease is still ours by the monotonic clock. */
  readonly isValid: () => boolean;
}
