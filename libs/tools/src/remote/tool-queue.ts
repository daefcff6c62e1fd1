import { Inject, Injectable } from '@nestjs/common';

import { BUS, type Bus } from '#platform';

/** What others need of the isolated tool queue besides the rows that send a call. */
@Injectable()
export class ToolQueue {
  constructor(@Inject(BUS) private readonly bus: Bus) {}

  /** After the commit that sent calls: tool processes look at once instead of within a second. */
  hint(workspaceId: string): void {
    this.bus.publish('tool-queue', { workspaceId, queue: 'requests' });
  }
}
