import { Injectable } from '@nestjs/common';

import type { JobKind } from '../job.js';
import type { JobHandler } from './job-handler.js';

/** The handlers of this process, which the libs above register at boot. One per kind. */
@Injectable()
export class JobHandlers {
  private readonly byKind = new Map<string, JobHandler>();

  register(handler: JobHandler): void {
    if (this.byKind.has(handler.kind)) throw new Error(`kind ${handler.kind} has two handlers`);
    this.byKind.set(handler.kind, handler);
  }

  get kinds(): JobKind[] {
    return [...this.byKind.values()].map(({ kind }) => kind);
  }

  find(kind: string): JobHandler | undefined {
    return this.byKind.get(kind);
  }
}
