import { Inject, Injectable } from '@nestjs/common';

import { BUS, type Bus, newId, systemClock } from '#platform';

const timeoutMs = 1_000;
/** No workspace and no job has this id, so only the probe subscribes to it. */
const unknownWorkspace = '00000000-0000-0000-0000-000000000000';

/** Checks whether hints arrive. */
@Injectable()
export class BusProbe {
  constructor(@Inject(BUS) private readonly bus: Bus) {}

  /** Sends a hint about a job that does not exist, and waits up to a second to receive it. */
  async isAlive(): Promise<boolean> {
    const jobId = newId();
    return new Promise((resolve) => {
      const finish = (alive: boolean) => {
        timer.cancel();
        off();
        resolve(alive);
      };
      const off = this.bus.subscribe('job-cancel', (hint) => {
        if (hint.jobId === jobId) finish(true);
      });
      const timer = systemClock.after(timeoutMs, () => {
        finish(false);
      });
      this.bus.publish('job-cancel', { workspaceId: unknownWorkspace, jobId, why: 'probe' });
    });
  }
}
