import type { JobStatus } from '../job.lifecycle.js';

export type WireStatus = 'streaming' | 'complete' | 'error' | 'aborted';

const wireStatuses: Readonly<Record<JobStatus, WireStatus>> = {
  queued: 'streaming',
  running: 'streaming',
  waiting: 'streaming',
  completed: 'complete',
  failed: 'error',
  cancelled: 'aborted',
};

/** The status that OR3 clients know. */
export function toWireStatus(status: JobStatus): WireStatus {
  return wireStatuses[status];
}
