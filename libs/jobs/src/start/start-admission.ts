import { Injectable } from '@nestjs/common';

import { newId, type PrismaTransaction } from '#platform';

import { CancelRepository } from '../cancel/cancel.repository.js';
import { admit, refusedByBound } from './admit.js';
import { PausedRunsRepository } from './paused-runs.repository.js';
import { StartRepository } from './start.repository.js';
import type { StartEffects } from './start-effects.js';
import type { StartDecision, StartRequest } from './start-request.js';

/** Decides a batch of starts from the database and frees capacity for those that it accepts. */
@Injectable()
export class StartAdmission {
  constructor(
    private readonly repository: StartRepository,
    private readonly pausedRuns: PausedRunsRepository,
    private readonly cancels: CancelRepository,
  ) {}

  /**
   * Locks the workspace. If starts exceed a limit of stored jobs, expires as many paused `/v1` runs of the same user, those that have waited
   * longest, and decides again. Returns null if the workspace does not exist.
   */
  async decide(
    tx: PrismaTransaction,
    workspaceId: string,
    requests: readonly StartRequest[],
  ): Promise<StartDecision[] | null> {
    const facts = await this.repository.facts(tx, workspaceId, requests);
    if (facts === null) return null;
    const decisions = admit(requests, facts, newId);
    const refused = refusedByBound(requests, decisions);
    if (refused.size === 0) return decisions;
    const expiring = await this.pausedRuns.expireOldest(tx, workspaceId, refused);
    return expiring.size === 0 ? decisions : admit(requests, { ...facts, expiring }, newId);
  }

  /** Cancels the jobs that accepted starts supersede, and returns those that had not ended. */
  async supersede(
    tx: PrismaTransaction,
    workspaceId: string,
    decisions: readonly StartDecision[],
  ): Promise<StartEffects['superseded']> {
    const superseded: StartEffects['superseded'] = [];
    for (const decision of decisions) {
      if (decision.type !== 'accept') continue;
      for (const jobId of decision.supersedes) {
        const result = await this.cancels.cancel(tx, { workspaceId, jobId, by: 'system', reason: 'superseded' });
        if (result !== null && result.state !== 'terminal') superseded.push({ jobId, ...result });
      }
    }
    return superseded;
  }
}
