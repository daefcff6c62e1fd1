import type { JsonObject } from './resource.js';

/** A resource as the server has it and as the file asks for it, both with defaults, and how to save it. */
export interface Comparison {
  /** Null: the server does not have it. */
  readonly current: JsonObject | null;
  readonly desired: JsonObject;
  readonly save: () => Promise<void>;
}
