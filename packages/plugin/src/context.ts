import type { WorkspaceFiles } from './files.js';
import type { JsonObject } from './schema.js';

/** How far a piece of work is; any part may be left out. `total` in the unit of `progress`. */
export interface Progress {
  readonly progress?: number;
  readonly total?: number;
  readonly message?: string;
}

/** Writes structured log lines. The server adds the plugin and the ids of the work, and removes secrets. */
export interface PluginLogger {
  debug(details: JsonObject | string, message?: string): void;
  info(details: JsonObject | string, message?: string): void;
  warn(details: JsonObject | string, message?: string): void;
  error(details: JsonObject | string, message?: string): void;
}

/** Reads the secrets of the workspace that the plugin's manifest names. */
export interface PluginSecrets {
  /**
   * The value. From now on it is replaced by `[redacted]` in results, errors and logs of the workspace. Rejects if the manifest does
   * not name the secret, or the workspace has not set it.
   */
  get(name: string): Promise<string>;
}

/** The work that the code of a plugin runs for. */
export interface WorkContext {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly threadId: string | null;
  /** `user:<id>`, `key:<id>` or `system`: whose rights the work has. */
  readonly principal: string;
  /** The person: the user, or the owner of the API key. Null: the system, or a person who is no longer a member. */
  readonly userId: string | null;
  /** Aborts at the timeout and when the job is stopped. The server does not wait for code that ignores it. */
  readonly signal: AbortSignal;
  /** Wall time in ms since the epoch. */
  readonly now: () => number;
  readonly secrets: PluginSecrets;
  /**
   * `fetch` with the guard of the server: public addresses and allowed ports only, and limits of time and size. The global `fetch`
   * has none of that.
   */
  readonly fetch: typeof globalThis.fetch;
  readonly logger: PluginLogger;
  /** The files of the workspace. */
  readonly files: WorkspaceFiles;
}
