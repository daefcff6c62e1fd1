import type { JobEvent } from '@nightshift/client';

/** How the events of a job are shown. */
export interface JobView {
  show(event: JobEvent): void;
  /** No more events come: the job has ended, or the command no longer follows it. */
  close(): void;
}
