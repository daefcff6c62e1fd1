import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import { jobNotFound, SnapshotRepository } from '#jobs';
import { JobAccess } from '#jobs/api';
import { WorkflowStateReader } from '#workflows';

import { type StatusQuery, type StatusReply, toStatus } from '../streams/to-status.js';

/** Reads the status of jobs for the REST endpoint. */
@Injectable()
export class JobRead {
  constructor(
    private readonly access: JobAccess,
    private readonly snapshots: SnapshotRepository,
    private readonly workflows: WorkflowStateReader,
  ) {}

  /** Throws `bad_request` and `not_found`. */
  async status(principal: Principal, jobId: string, query: StatusQuery): Promise<StatusReply> {
    const { workspaceId, id } = await this.access.read(principal, jobId);
    const snapshot = await this.snapshots.read(workspaceId, id);
    if (snapshot === null) throw jobNotFound();
    const isWorkflow = snapshot.kind === 'workflow';
    const state = isWorkflow ? await this.workflows.read(principal.workspaceId, snapshot.jobId) : null;
    return toStatus(snapshot, { query, state });
  }
}
