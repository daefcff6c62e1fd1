/** An event of the sample job, with the fields that the sample shows. */
export type SampleEvent =
  | { readonly type: 'round-started'; readonly round: number; readonly model: string }
  | { readonly type: 'round-finished'; readonly round: number }
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
  /** The job continues only after a person or a client has responded. */
  | { readonly type: 'waiting' }
  /** `reason` is for people: the message of the error, if there is one. */
  | { readonly type: 'finished'; readonly status: string; readonly reason: string };
