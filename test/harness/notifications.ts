import { newId, type Scope } from '#platform';

import { EventLogRepository, type Written } from '../../libs/jobs/src/events/event-log.repository.js';
import { EventFeed } from '../../libs/jobs/src/feed/event-feed.js';
import { endNotifications } from '../../libs/jobs/src/notifications/new-notification.part.js';
import type { ClaimedJob } from '../../libs/jobs/src/run/lease.repository.js';
import { JobStarter } from '../../libs/jobs/src/start/job-starter.js';
import type { StartRequest } from '../../libs/jobs/src/start/start-request.js';
import { endOf, type TestJobs } from './jobs.js';

/** Jobs of a user that the test ends, and the notifications of their requesters. */
export interface NotificationStage {
  /** Of a person with jobs in the workspace. */
  readonly scope: Scope;
  start(changes?: Partial<StartRequest>): Promise<string>;
  /** Starts a job and claims it. */
  startClaimed(changes?: Partial<StartRequest>): Promise<ClaimedJob>;
  /** Ends it as completed, as its worker does. */
  end(job: ClaimedJob, number?: number): Promise<(Written | Error)[]>;
  /** Follows the job; resolves after the first item and follows until `signal` aborts. */
  watch(jobId: string, signal: AbortSignal): Promise<void>;
  /** The notifications about it, oldest first. */
  notificationsOf(jobId: string): Promise<{ type: string; user_id: string; interrupt_id: string | null }[]>;
}

export function notificationStage(jobs: TestJobs): NotificationStage {
  const { workspaceId, userId, app } = jobs;
  const start = async (changes: Partial<StartRequest> = {}) =>
    (await app.get(JobStarter).start(jobs.request({ createdBy: userId, ...changes }))).jobId;
  return {
    scope: scopeOfUser(workspaceId, userId),
    start,
    startClaimed: async (changes) => jobs.claim(await start(changes)),
    end: (job, number = 1) => {
      const rows = endNotifications(job, { status: 'completed', reason: 'stop' }, newId());
      return app.get(EventLogRepository).commit([{ ...endOf(job, number), rows }]);
    },
    watch: async (jobId, signal) => {
      const feed = app.get(EventFeed).follow({ workspaceId, jobId, after: undefined, signal });
      await feed.next();
      void feed.next().catch(() => undefined);
    },
    notificationsOf: (jobId) =>
      jobs.rows('SELECT type, user_id, interrupt_id FROM notification WHERE job_id = $1 ORDER BY id', [jobId]),
  };
}

/** The scope of a user who may read everything in the workspace. */
export function scopeOfUser(workspaceId: string, userId: string | null): Scope {
  return { workspaceId, principal: `user:${userId ?? ''}`, userId, where: () => ({ workspaceId }) };
}
