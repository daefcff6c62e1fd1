/** What is waited for can be given up; the job itself goes on. */
export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
}
