import type { NewInterrupt } from '#jobs';
import type { Approval, ToolFailure } from '#tools';

/** Where a call goes. Decided when its round is committed, and once more for a call that another worker left open. */
export type CallRoute =
  /** This worker runs it. */
  | ({ readonly type: 'run' } & Allowed)
  /** A process of the isolated queue runs it, if one takes it within `ttlMs`. */
  | ({ readonly type: 'queue'; readonly ttlMs: number } & Allowed)
  /** A job of its own is its work. */
  | ({ readonly type: 'sub-job' } & Allowed)
  /** Somebody outside has to let it run (`awaiting_approval`), or to run it (`awaiting_client`). */
  | {
      readonly type: 'open';
      readonly status: 'awaiting_approval' | 'awaiting_client';
      readonly executor: 'worker' | 'client';
      readonly interrupt: NewInterrupt;
    }
  /** It must not run (`denied`), or what it asks for makes no sense (`error`) and nobody is troubled with it. */
  | {
      readonly type: 'refused';
      readonly status: 'denied' | 'error';
      readonly approval: 'blocked' | 'withdrawn' | null;
      readonly failure: ToolFailure;
    };

interface Allowed {
  readonly approval: Approval;
  readonly grantId: string | null;
  /** Fingerprint of the tool that was asked about: no other one may run. */
  readonly toolVersion: string;
}

/** The routes of a round's calls by ordinal; settled calls have none. */
export type CallRoutes = ReadonlyMap<number, CallRoute & { readonly toolCallId: string }>;
