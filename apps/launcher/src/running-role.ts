import type { Auth } from '#auth';
import type { Platform } from '#platform';

/** A running api, worker, or both in one application. */
export interface RunningRole {
  /** Base URL of the api; null for a worker. */
  readonly url: string | null;
  /** Base URL of /healthz, /readyz and /metrics; null without them. */
  readonly healthUrl: string | null;
  /** Drains in order (readiness, intake, jobs, leases) and frees everything but platform and auth. */
  close(): Promise<void>;
  /** Makes a running `close` stop at once. */
  hurry(): Promise<void>;
}

/** Starts each role that an entry point has. */
export interface RoleStarters {
  readonly api?: (platform: Platform, auth: Auth) => Promise<RunningRole>;
  readonly worker?: (platform: Platform) => Promise<RunningRole>;
  /** `platform` is the reduced one of a tool process. */
  readonly tools?: (platform: Platform) => Promise<RunningRole>;
  readonly all?: (platform: Platform, auth: Auth) => Promise<RunningRole>;
}
