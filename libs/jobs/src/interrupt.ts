/** The kinds of requests for which a job can wait. */
export const interruptKinds = [
  'tool_approval',
  'client_tool',
  'human_input',
  'unknown_outcome',
  'wait',
  'provider_unavailable',
  'plugin_missing',
] as const;
export type InterruptKind = (typeof interruptKinds)[number];

/** Kinds that a person decides, and that the job reminds people of. */
export const personKinds = ['tool_approval', 'human_input', 'unknown_outcome'] as const satisfies InterruptKind[];

/** Kinds that need a person or a client. A timer or an event ends the others. */
export const requestKinds = [...personKinds, 'client_tool'] as const satisfies InterruptKind[];

/** Kinds whose expiry retries the failed step, unless a person decides earlier. */
export const retriedKinds = ['provider_unavailable', 'plugin_missing'] as const satisfies InterruptKind[];

/** Kinds that a person may decide. */
export const decidableKinds = [...personKinds, ...retriedKinds] as const satisfies InterruptKind[];

/** Kinds that a list shows by default. */
export const listedKinds = [...requestKinds, ...retriedKinds] as const satisfies InterruptKind[];

export const interruptStatuses = ['open', 'resolved', 'expired', 'cancelled'] as const;
export type InterruptStatus = (typeof interruptStatuses)[number];

/** Who may decide: the person who started the job, members with the ability `approve`, or every member who may change the job. */
export const decidableBy = ['requester', 'approvers', 'members'] as const;
export type DecidableBy = (typeof decidableBy)[number];

/** What happens to a request at its expiry. No action ever approves a call. */
export type ExpireAction = 'deny' | 'fail_job' | 'report' | 'wait' | 'skip' | 'fail';

/** How a request was settled. Every API shows `outcome`; the other members record the details of the decision. */
export interface Outcome {
  readonly outcome: string;
  readonly [detail: string]: unknown;
}

/** One request to a person, a client or a timer. Instants in ms since the epoch. */
export interface Interrupt {
  readonly workspaceId: string;
  readonly id: string;
  readonly kind: InterruptKind;
  readonly status: InterruptStatus;
  readonly jobId: string;
  /** The job that a person started; equal to `jobId` unless that job is a sub-job. */
  readonly rootJobId: string;
  readonly threadId: string | null;
  /** The row of the tool call, and the id by which the model knows this call. */
  readonly toolCallId: string | null;
  readonly callId: string | null;
  readonly tool: string | null;
  readonly nodeId: string | null;
  readonly path: readonly string[];
  readonly title: string;
  /** The members depend on `kind`. The value stays as it was first shown. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly outcome: Outcome | null;
  readonly decidedBy: string | null;
  readonly decidedAt: number | null;
  readonly createdAt: number;
  /** Null if the request never expires. */
  readonly expiresAt: number | null;
  readonly expireAction: ExpireAction;
  /** The user who started the root job; null: no user did. */
  readonly requester: string | null;
  readonly decidableBy: DecidableBy;
  readonly fourEyes: boolean;
  readonly adminRequired: boolean;
  /** For `client_tool`: the principal whose clients may run the call, and the device if the call is bound to one. */
  readonly principal: string | null;
  readonly deviceId: string | null;
  /** The request is not allowed to wait; its job is cancelled because it opened the request. */
  readonly refused: boolean;
}

/** A request to be opened. The insert looks up the root job and its requester. `expiresAt` null or absent: it never expires. */
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
