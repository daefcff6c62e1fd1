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

/** How each role of an entry point starts. */
export interface RoleStarters {
  readonly api?: (platform: Platform, auth: Auth) => Promise<RunningRole>;
  readonly worker?: (platform: Platform) => Promise<RunningRole>;
  /** `platform` is that of a tool process. */
  readonly tools?: (platform: Platform) => Promise<RunningRole>;
  readonly all?: (platform: Platform, auth: Auth) => Promise<RunningRole>;
}
