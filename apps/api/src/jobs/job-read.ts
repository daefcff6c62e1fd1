import { Injectable } from '@nestjs/common';

import { type Principal, scopeOf } from '#auth';
import { jobNotFound, type JobSnapshot, JobsRepository, SnapshotRepository } from '#jobs';
import { AppError } from '#platform';
import { WorkflowStateReader } from '#workflows';

import { type StatusQuery, type StatusReply, toStatus, toWireStatus, type WireStatus } from '../streams/to-status.js';
import { JobAccess } from './job-access.js';

/** The ids of a job, as its starter gave them, and how it stands. */
export interface AdmittedJob {
  readonly jobId: string;
  readonly status: WireStatus;
  readonly threadId: string | null;
  readonly messageId: string | null;
}

/** Reads jobs for the REST endpoint. */
@Injectable()
export class JobRead {
  constructor(
    private readonly access: JobAccess,
    private readonly jobs: JobsRepository,
    private readonly snapshots: SnapshotRepository,
    private readonly workflows: WorkflowStateReader,
  ) {}

  /** Throws `bad_request` and `not_found`. */
  async status(principal: Principal, jobId: string, query: StatusQuery): Promise<StatusReply> {
    const snapshot = await this.snapshot(principal, jobId);
    const isWorkflow = snapshot.kind === 'workflow';
    const state = isWorkflow ? await this.workflows.read(principal.workspaceId, snapshot.jobId) : null;
    return toStatus(snapshot, { query, state });
  }

  /** The job that the principal's key has started. Throws `bad_request`, `not_found`. */
  async admission(principal: Principal, key: string): Promise<AdmittedJob> {
    if (!/^[\x21-\x7e]{1,255}$/.test(key)) throw new AppError({ code: 'bad_request', message: 'Missing admission ID' });
    const known = await this.jobs.findAdmission(scopeOf(principal), key);
    if (known?.jobId == null) throw noJobForAdmission();
    const { jobId, status, threadId, messageId } = await this.snapshot(principal, known.jobId);
    return { jobId, status: toWireStatus(status), threadId, messageId };
  }

  private async snapshot(principal: Principal, jobId: string): Promise<JobSnapshot> {
    const { workspaceId, id } = await this.access.read(principal, jobId);
    const snapshot = await this.snapshots.read(workspaceId, id);
    if (snapshot === null) throw jobNotFound();
    return snapshot;
  }
}

const noJobForAdmission = () => new AppError({ code: 'not_found', message: 'No job for this admission' });
