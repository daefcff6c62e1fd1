import { Injectable } from '@nestjs/common';

import { type Principal, scopeOf } from '#auth';
import { AppError } from '#platform';

import type { Job } from '../job.js';
import { jobNotFound } from '../jobs.errors.js';
import { JobsRepository, type MessageRef } from '../jobs.repository.js';
import { SnapshotRepository } from '../snapshot/snapshot.repository.js';
import { JobAccess } from './job-access.js';
import { toWireStatus, type WireStatus } from './wire-status.js';

/** A job with the ids that its starter gave, and its status. */
export interface AdmittedJob {
  readonly jobId: string;
  readonly status: WireStatus;
  readonly threadId: string | null;
  readonly messageId: string | null;
}

export const admissionNotFound = () => new AppError({ code: 'not_found', message: 'No job for this admission' });

/** Finds jobs by values that their starter chose: the idempotency key, or the ids of the thread and the message. */
@Injectable()
export class JobAdmissions {
  constructor(
    private readonly access: JobAccess,
    private readonly jobs: JobsRepository,
    private readonly snapshots: SnapshotRepository,
  ) {}

  /** The job that the principal started with this key. Throws `bad_request`, `not_found`. */
  async find(principal: Principal, key: string): Promise<AdmittedJob> {
    if (!/^[\x21-\x7e]{1,255}$/.test(key)) throw new AppError({ code: 'bad_request', message: 'Missing admission ID' });
    const known = await this.jobs.findAdmission(scopeOf(principal), key);
    if (known?.jobId == null) throw admissionNotFound();
    return this.shown(await this.access.read(principal, known.jobId));
  }

  /** The newest job that writes the message. Throws `not_found`. */
  async findByMessage(principal: Principal, message: MessageRef): Promise<AdmittedJob> {
    const job = await this.jobs.findByMessageInScope(scopeOf(principal), message);
    if (job === null) throw jobNotFound();
    return this.shown(job);
  }

  private async shown({ workspaceId, id }: Job): Promise<AdmittedJob> {
    const snapshot = await this.snapshots.read(workspaceId, id);
    if (snapshot === null) throw jobNotFound();
    const { jobId, status, threadId, messageId } = snapshot;
    return { jobId, status: toWireStatus(status), threadId, messageId };
  }
}
