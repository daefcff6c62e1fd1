import { Injectable } from '@nestjs/common';

import type { StartRequest } from './start-request.js';

/** Changes a request before it is accepted, or rejects with the reason why the job must not start. */
export type StartFilter = (request: StartRequest) => Promise<StartRequest>;

/** A filter of start requests from a higher layer, which registers it when the process boots. */
@Injectable()
export class StartFilters {
  private registered: StartFilter | null = null;

  register(filter: StartFilter): void {
    this.registered = filter;
  }

  /** Null if no filter is registered; requests are then used unchanged. */
  get filter(): StartFilter | null {
    return this.registered;
  }
}
