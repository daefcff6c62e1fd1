import { Injectable, type OnModuleInit } from '@nestjs/common';

import { abilityOf, asSubject, PrincipalsRepository } from '#auth';
import { type ClaimedJob, JobHandlers } from '#jobs';

/** Checks, when a delayed job begins, whether its requester may still start it. */
@Injectable()
export class DelayedRights implements OnModuleInit {
  constructor(
    private readonly principals: PrincipalsRepository,
    private readonly handlers: JobHandlers,
  ) {}

  onModuleInit(): void {
    this.handlers.mayBegin = (job) => this.mayBegin(job);
  }

  private async mayBegin({ workspaceId, principal: id, createdBy }: ClaimedJob): Promise<boolean> {
    if (id === 'system') return true;
    const principal = await this.principals.find(workspaceId, id);
    return principal !== null && abilityOf(principal).can('create', asSubject('Job', { workspaceId, createdBy }));
  }
}
