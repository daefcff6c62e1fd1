import type { Auth } from '#auth';
import type { Platform } from '#platform';

/** An api, a worker, or both in one application, at work. */
export interface RunningRole {
  /** Base of the api's routes; null for a worker. */
  readonly url: string | null;
  /** Base of /healthz, /readyz and /metrics; null without them. */
  readonly healthUrl: string | null;
  /** Drains in order (readiness, intake, jobs, leases) and frees everything but platform and auth. */
  close(): Promise<void>;
  /** Ends the waiting of a `close` that is under way. */
  hurry(): Promise<void>;
}

/** How each role starts; the entry point, which may know the other applications, brings them along. `worker` is also `tools`. */
export interface RoleStarters {
  api(platform: Platform, auth: Auth): Promise<RunningRole>;
  worker(platform: Platform): Promise<RunningRole>;
  all(platform: Platform, auth: Auth): Promise<RunningRole>;
}
