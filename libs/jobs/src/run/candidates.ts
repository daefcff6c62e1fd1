import type { JobRef } from '../job.js';

/**
 * Jobs that may be claimable, known from queue messages, hints or a sweep. They are taken from the workspaces in turn, so that ten thousand jobs
 * of one tenant do not delay the first job of another. The number is bounded: jobs beyond the limit are dropped, `overflowed` becomes true, and
 * the worker finds them in the table.
 */
export class Candidates {
  private readonly byWorkspace = new Map<string, Map<string, JobRef>>();
  /** Workspaces that `take` skips until `resume`. */
  private readonly deferred = new Map<string, Map<string, JobRef>>();
  private count = 0;
  overflowed = false;

  constructor(private readonly limit: number) {}

  /** Includes the deferred jobs. */
  get size(): number {
    return this.count;
  }

  /** Whether `take` would return a job. */
  get isReady(): boolean {
    return this.byWorkspace.size > 0;
  }

  has({ workspaceId, jobId }: JobRef): boolean {
    return [this.byWorkspace, this.deferred].some((jobs) => jobs.get(workspaceId)?.has(jobId) === true);
  }

  add(ref: JobRef): void {
    if (this.count >= this.limit) {
      this.overflowed = true;
      return;
    }
    const { workspaceId, jobId } = ref;
    const known = this.deferred.get(workspaceId) ?? this.byWorkspace.get(workspaceId);
    if (known?.has(jobId) === true) return;
    const jobs = known ?? new Map<string, JobRef>();
    jobs.set(jobId, { workspaceId, jobId });
    if (known === undefined) this.byWorkspace.set(workspaceId, jobs);
    this.count += 1;
  }

  /** Puts taken jobs back before the others of their workspaces; `take` skips these workspaces until `resume`. */
  defer(refs: readonly JobRef[]): void {
    for (const workspaceId of new Set(refs.map((ref) => ref.workspaceId))) {
      const later = this.deferred.get(workspaceId) ?? this.byWorkspace.get(workspaceId) ?? new Map<string, JobRef>();
      const first = refs.filter((ref) => ref.workspaceId === workspaceId && !later.has(ref.jobId));
      this.byWorkspace.delete(workspaceId);
      this.deferred.set(workspaceId, new Map([...first.map((ref) => [ref.jobId, ref] as const), ...later]));
      this.count += first.length;
    }
  }

  /** Ends every `defer`. */
  resume(): void {
    for (const [workspaceId, jobs] of this.deferred) this.byWorkspace.set(workspaceId, jobs);
    this.deferred.clear();
  }

  /** Up to `max` jobs, one of each workspace in turn, oldest first within a workspace. */
  take(max: number): JobRef[] {
    const taken: JobRef[] = [];
    while (taken.length < max && this.isReady) {
      for (const [workspaceId, jobs] of this.byWorkspace) {
        const [ref] = jobs.values();
        if (ref !== undefined) {
          taken.push(ref);
          jobs.delete(ref.jobId);
          this.count -= 1;
        }
        // Re-inserted at the end, so that the next call continues with the next workspace.
        this.byWorkspace.delete(workspaceId);
        if (jobs.size > 0) this.byWorkspace.set(workspaceId, jobs);
        if (taken.length >= max) break;
      }
    }
    return taken;
  }

  clear(): void {
    this.byWorkspace.clear();
    this.deferred.clear();
    this.count = 0;
  }
}
