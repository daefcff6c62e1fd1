import type { ClientTools } from './client-tool.js';
import type { InterruptKind, ResolveInterruptInput } from './generated/graphql.js';
import type { ApprovalRequest, QuestionRequest } from './interrupt.js';

/**
 * The decision about a call: it runs, does not run, or runs with other arguments. `undefined` leaves the decision to another person: the
 * request stays open.
 */
export type Approval =
  'approve' | 'deny' | { readonly edit: Readonly<Record<string, unknown>> } | { readonly deny: string } | undefined;

/** The answer to a question: see docs/interrupts.md. `undefined` leaves the answer to another person. */
export type Answer = Pick<ResolveInterruptInput, 'action' | 'data' | 'reason'> | undefined;

/** Aborts when another person has decided, or the job was cancelled. */
export interface DecisionContext {
  readonly signal: AbortSignal;
}

/** `Decision` keeps literal return types, so that `async () => 'deny'` is an approval and not a `Promise<string>`. */
export type OnApproval<Decision extends Approval = Approval> = (
  request: ApprovalRequest,
  context: DecisionContext,
) => Decision | Promise<Decision>;
export type OnQuestion = (request: QuestionRequest, context: DecisionContext) => Answer | Promise<Answer>;

/** The handlers of this client for a job. */
export interface ServeOptions<Decision extends Approval = Approval> {
  /** Runs the calls of these tools until the job ends. */
  readonly tools?: ClientTools | undefined;
  /** Called for each tool call that needs an approval which the caller may give, also of sub-jobs. */
  readonly onApproval?: OnApproval<Decision> | undefined;
  /** Called for each question that the caller may answer, also of sub-jobs. */
  readonly onQuestion?: OnQuestion | undefined;
  /** Called with each error: of a tool, of a rejected decision or, without a request, of serving that ended before its job. */
  readonly onError?: ((error: unknown, request?: OpenRequest) => void) | undefined;
  /** Ends the serving and aborts its work. */
  readonly signal?: AbortSignal | undefined;
}

/** A request as the log contains it. */
export interface OpenRequest {
  readonly id: string;
  readonly kind: InterruptKind;
  readonly callId: string | null;
  readonly title: string;
  /** The fields of the request by kind: docs/interrupts.md. */
  readonly request: Readonly<Record<string, unknown>>;
}

/** A request while it is open. */
export interface OfferedRequest extends OpenRequest {
  readonly jobId: string;
  /** Aborts when the request is settled, or serving has ended. */
  readonly signal: AbortSignal;
}
