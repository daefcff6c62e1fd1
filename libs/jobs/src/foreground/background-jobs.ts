import { Injectable } from '@nestjs/common';

import { AppError, Config } from '#platform';

/** Whether jobs run without a connected client. */
@Injectable()
export class BackgroundJobs {
  constructor(private readonly config: Config) {}

  get areOn(): boolean {
    return this.config.values.BACKGROUND_JOBS_ENABLED;
  }

  /** Call it for starts that no client follows, such as those of schedules and triggers. Throws `background_jobs_off`. */
  assertOn(): void {
    if (!this.areOn) throw backgroundJobsOff();
  }
}

const backgroundJobsOff = () =>
  new AppError({
    code: 'background_jobs_off',
    message:
      'Jobs without a connected client are switched off on this server (BACKGROUND_JOBS_ENABLED). The operator of this server can switch them on.',
  });
