import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';

import { Doorbell } from '#jobs';

/** Opens the doorbell before the first job can be accepted, and lets go of it when no request is left. */
@Injectable()
export class JobDoorbellLifecycle implements OnModuleInit, OnApplicationShutdown {
  constructor(private readonly doorbell: Doorbell) {}

  onModuleInit(): Promise<void> {
    return this.doorbell.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.doorbell.stop();
  }
}
