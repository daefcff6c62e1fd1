import { Module, type OnModuleInit } from '@nestjs/common';

import { ViewersModule } from '#auth/api';

import { JobsModule } from '../jobs.module.js';
import { JobQueue } from '../queue/job-queue.js';
import { AdmissionController } from './admission.controller.js';
import { WorkspaceActivity } from './events/workspace-activity.js';
import { WorkspaceActivityResolver } from './events/workspace-activity.resolver.js';
import { JobAbort } from './job-abort.js';
import { JobAccess } from './job-access.js';
import { JobAdmissions } from './job-admissions.js';
import { JobFieldsResolver } from './job-fields.resolver.js';
import { JobLoaders } from './job-loaders.js';
import { JobMutationsResolver } from './job-mutations.resolver.js';
import { JobsResolver } from './jobs.resolver.js';
import { LimitsModule } from './limits/limits.module.js';
import { SubJobsResolver } from './sub-jobs.resolver.js';

/** Jobs: queries, cancels, admissions and live activity. Requires a global `AuthModule`. */
@Module({
  imports: [JobsModule, LimitsModule, ViewersModule],
  controllers: [AdmissionController],
  providers: [
    JobAbort,
    JobAccess,
    JobAdmissions,
    JobLoaders,
    WorkspaceActivity,
    JobFieldsResolver,
    JobMutationsResolver,
    JobsResolver,
    SubJobsResolver,
    WorkspaceActivityResolver,
  ],
  exports: [JobAbort, JobAccess, JobLoaders],
})
export class JobsApiModule implements OnModuleInit {
  constructor(private readonly queue: JobQueue) {}

  /** Starts the job queues before the first job can be accepted. */
  onModuleInit(): Promise<void> {
    return this.queue.start();
  }
}
