/** A wait can be aborted; the job keeps running. */
export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
}
