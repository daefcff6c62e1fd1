import { Injectable, type OnModuleInit } from '@nestjs/common';

import { JobQueue } from '../queue/job-queue.js';

/** Starts the job queues before the first job can be accepted. */
@Injectable()
export class JobQueueLifecycle implements OnModuleInit {
  constructor(private readonly queue: JobQueue) {}

  onModuleInit(): Promise<void> {
    return this.queue.start();
  }
}
