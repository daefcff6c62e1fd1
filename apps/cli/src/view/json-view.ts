import type { JobEvent } from '@nightshift/client';

import { toEventLine } from './event-line.js';
import type { JobView } from './job-view.js';

/** The log of a job as JSON, a line for each event. */
export class JsonView implements JobView {
  constructor(private readonly emit: (value: object) => void) {}

  show(event: JobEvent): void {
    this.emit(toEventLine(event));
  }

  close(): void {
    // Every line stands for itself.
  }
}
