import { Inject, Injectable } from '@nestjs/common';

import { InterruptsRepository } from '#jobs';
import { BUS, type Bus, LOGGER, type Logger } from '#platform';

import { RowActivity } from '../streams/row-activity.js';

/** Open requests that are told apart; of a workspace with more, the newest. */
const mostOpen = 5_000;

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

  protected readOpen(workspaceId: string): Promise<readonly string[]> {
    return this.interrupts.openIds(workspaceId, mostOpen);
  }

  protected hear(bus: Bus, changed: (workspaceId: string) => void): readonly (() => void)[] {
    return [
      bus.subscribe('interrupts-changed', ({ workspaceId }) => {
        changed(workspaceId);
      }),
    ];
  }
}
