import { Inject, Injectable } from '@nestjs/common';

import { InterruptsRepository } from '#jobs';
import { BUS, type Bus, LOGGER, type Logger } from '#platform';

import { RowActivity } from '../streams/row-activity.js';

/** Which requests of a workspace were opened or settled. */
@Injectable()
export class InterruptActivity extends RowActivity {
  constructor(
    private readonly interrupts: InterruptsRepository,
    @Inject(BUS) bus: Bus,
    @Inject(LOGGER) logger: Logger,
  ) {
    super(bus, logger);
  }

  protected readOpen(workspaceId: string, limit: number): Promise<readonly string[]> {
    return this.interrupts.openIds(workspaceId, limit);
  }

  protected hear(bus: Bus, changed: (workspaceId: string) => void): readonly (() => void)[] {
    return [
      bus.subscribe('interrupts-changed', ({ workspaceId }) => {
        changed(workspaceId);
      }),
    ];
  }
}
