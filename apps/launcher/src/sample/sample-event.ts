/** What happened in the sample job, as far as its viewer shows it. */
export type SampleEvent =
  | { readonly type: 'round-started'; readonly round: number; readonly model: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'round-restarted'; readonly round: number }
  | {
      readonly type: 'tool-call';
      readonly id: string;
      readonly name: string;
      readonly isSettled: boolean;
      readonly args: string;
      readonly outcome: string;
    }
  /** The job does not continue before a person or a client has responded. */
  | { readonly type: 'waiting' }
  /** `reason` is for people: the error's message when there is one. */
  | { readonly type: 'finished'; readonly status: string; readonly reason: string };
