import { Inject, Injectable } from '@nestjs/common';

import { BUS, type Bus } from '#platform';

/** Sends hints about the tool queue. */
@Injectable()
export class ToolQueue {
  constructor(@Inject(BUS) private readonly bus: Bus) {}

  /** Call it after the commit that sent calls: tool processes then poll at once instead of within a second. */
  hint(workspaceId: string): void {
    this.bus.publish('tool-queue', { workspaceId, queue: 'requests' });
  }
}
