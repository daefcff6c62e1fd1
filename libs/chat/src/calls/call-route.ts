import type { NewInterrupt } from '#jobs';
import type { Approval, ToolFailure, ToolOutcome } from '#tools';

/** Where a call goes. The route is decided before its round is committed, and again for a call that another worker left open. */
export type CallRoute =
  /** This worker runs it. */
  | ({ readonly type: 'run' } & Allowed)
  /** A tool process runs it, if one claims it from the tool queue within `ttlMs`. */
  | ({ readonly type: 'queue'; readonly ttlMs: number; readonly concurrency: number | null } & Allowed)
  /** A sub-job runs it. */
  | ({ readonly type: 'sub-job' } & Allowed)
  /** A person must approve it (`awaiting_approval`), or a client must run it (`awaiting_client`). */
  | {
      readonly type: 'open';
      readonly status: 'awaiting_approval' | 'awaiting_client';
      readonly executor: 'worker' | 'client';
      readonly interrupt: NewInterrupt;
    }
  /** A hook has returned the result, so the call does not run. */
  | { readonly type: 'answered'; readonly outcome: ToolOutcome }
  /** The call must not run (`denied`), or its arguments are invalid (`error`), so no request is opened. */
  | {
      readonly type: 'refused';
      readonly status: 'denied' | 'error';
      readonly approval: 'blocked' | 'withdrawn' | null;
      readonly failure: ToolFailure;
    };

interface Allowed {
  readonly approval: Approval;
  readonly grantId: string | null;
  /** Fingerprint of the tool that was approved: a changed tool must not run. */
  readonly toolVersion: string;
}

/** The routes of a round's calls by ordinal; settled calls have none. */
export type CallRoutes = ReadonlyMap<number, CallRoute & { readonly toolCallId: string }>;
