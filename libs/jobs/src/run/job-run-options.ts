import type { Clock } from '#platform';

import type { EventLog } from '../events/event-log.js';
import type { Renewed } from './lease.repository.js';
import type { FlushPolicy } from './pending-write.js';

type RenewedLease = Pick<Renewed, 'cancelRequested' | 'externalUpdates'> & Partial<Pick<Renewed, 'reason'>>;

/** The values that a run gets from its process. */
export interface JobRunOptions {
  readonly log: EventLog;
  readonly clock: Clock;
  readonly flush: FlushPolicy;
  /** Renews the lease after a write was refused, and returns its state. Undefined: this worker no longer has the lease. */
  readonly renewLease: () => Promise<RenewedLease | undefined>;
  /** Whether the lease is still valid on the monotonic clock. */
  readonly isValid: () => boolean;
}
