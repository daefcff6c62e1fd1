/** A wait can be aborted; the job itself keeps running. */
export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
}
