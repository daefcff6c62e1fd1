/** What a job can wait for from outside. */
export const interruptKinds = [
  'tool_approval',
  'client_tool',
  'human_input',
  'unknown_outcome',
  'wait',
  'provider_unavailable',
] as const;
export type InterruptKind = (typeof interruptKinds)[number];

/** Those that a person is asked to decide, and reminded of. */
export const personKinds = ['tool_approval', 'human_input', 'unknown_outcome'] as const satisfies InterruptKind[];

/** Those that need a person or a client. The others end by themselves: by a timer or an event. */
export const requestKinds = [...personKinds, 'client_tool'] as const satisfies InterruptKind[];

/** Those that a person may decide; without a decision, a `provider_unavailable` is retried by its timer. */
export const decidableKinds = [...personKinds, 'provider_unavailable'] as const satisfies InterruptKind[];

/** Those that lists show unless they are asked for others. */
export const listedKinds = [...requestKinds, 'provider_unavailable'] as const satisfies InterruptKind[];

export const interruptStatuses = ['open', 'resolved', 'expired', 'cancelled'] as const;
export type InterruptStatus = (typeof interruptStatuses)[number];

/** Who may answer: the person who started the job, those with the ability `approve`, or whoever may change the job. */
export const decidableBy = ['requester', 'approvers', 'members'] as const;
export type DecidableBy = (typeof decidableBy)[number];

/** What expiry makes of a request. None of them ever approves anything. */
export type ExpireAction = 'deny' | 'fail_job' | 'report' | 'wait' | 'skip' | 'fail';

/** How a request was settled. `outcome` is the word that every face shows; the rest is what was decided, for the record. */
export interface Outcome {
  readonly outcome: string;
  readonly [detail: string]: unknown;
}

/** One request to somebody outside. Instants in ms since the epoch. */
export interface Interrupt {
  readonly workspaceId: string;
  readonly id: string;
  readonly kind: InterruptKind;
  readonly status: InterruptStatus;
  readonly jobId: string;
  /** The job that a person started; `jobId` itself unless that one is a sub-job. */
  readonly rootJobId: string;
  readonly threadId: string | null;
  /** The ledger row it is about, and the id the model knows that call by. */
  readonly toolCallId: string | null;
  readonly callId: string | null;
  readonly tool: string | null;
  readonly nodeId: string | null;
  readonly path: readonly string[];
  readonly title: string;
  /** By kind; as it was first shown. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly outcome: Outcome | null;
  readonly decidedBy: string | null;
  readonly decidedAt: number | null;
  readonly createdAt: number;
  /** Null: never. */
  readonly expiresAt: number | null;
  readonly expireAction: ExpireAction;
  /** The user who started the root job; null: nobody. */
  readonly requester: string | null;
  readonly decidableBy: DecidableBy;
  readonly fourEyes: boolean;
  readonly adminRequired: boolean;
  /** client_tool: whose clients may serve it, and on which device if it is bound to one. */
  readonly principal: string | null;
  readonly deviceId: string | null;
  /** Nobody is to be waited for: the job is cancelled for having asked. */
  readonly refused: boolean;
}

/** A request to be opened; where its job stands among others is looked up when it is stored. `expiresInMs` null: it never expires. */
export type NewInterrupt = Pick<Interrupt, 'id' | 'kind' | 'title' | 'request'> &
  Partial<
    Pick<
      Interrupt,
      | 'threadId'
      | 'toolCallId'
      | 'callId'
      | 'tool'
      | 'nodeId'
      | 'path'
      | 'requester'
      | 'decidableBy'
      | 'fourEyes'
      | 'adminRequired'
      | 'principal'
      | 'deviceId'
      | 'expireAction'
      | 'expiresAt'
    >
  >;
