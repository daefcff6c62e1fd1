import type { JobRef } from './lease.repository.js';

/**
 * Jobs that may be claimable, heard of by hint, doorbell or sweep. Taken in turns between workspaces, so that ten thousand
 * jobs of one tenant do not delay the first job of another. Bounded: what does not fit is forgotten, and found again in
 * the table (`overflowed` says that looking there is worth it).
 */
export class Candidates {
  private readonly byWorkspace = new Map<string, Map<string, JobRef>>();
  private count = 0;
  overflowed = false;

  constructor(private readonly limit: number) {}

  get size(): number {
    return this.count;
  }

  add(ref: JobRef): void {
    if (this.count >= this.limit) {
      this.overflowed = true;
      return;
    }
    const jobs = this.byWorkspace.get(ref.workspaceId) ?? new Map<string, JobRef>();
    if (jobs.has(ref.jobId)) return;
    jobs.set(ref.jobId, { workspaceId: ref.workspaceId, jobId: ref.jobId });
    this.byWorkspace.set(ref.workspaceId, jobs);
    this.count += 1;
  }

  /** Up to `most` jobs, one of each workspace in turn, oldest first within a workspace. */
  take(most: number): JobRef[] {
    const taken: JobRef[] = [];
    while (taken.length < most && this.count > 0) {
      for (const [workspaceId, jobs] of this.byWorkspace) {
        const [ref] = jobs.values();
        if (ref !== undefined) {
          taken.push(ref);
          jobs.delete(ref.jobId);
          this.count -= 1;
        }
        // Re-inserted at the end, so that the next call goes on with the next workspace.
        this.byWorkspace.delete(workspaceId);
        if (jobs.size > 0) this.byWorkspace.set(workspaceId, jobs);
        if (taken.length >= most) break;
      }
    }
    return taken;
  }

  clear(): void {
    this.byWorkspace.clear();
    this.count = 0;
  }
}
