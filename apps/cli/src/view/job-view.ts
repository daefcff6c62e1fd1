import type { JobEvent } from '@nightshift/client';

/** How the events of a job are shown. */
export interface JobView {
  show(event: JobEvent): void;
  /** Nothing more comes: it has ended, or nobody follows it any more. */
  close(): void;
}
