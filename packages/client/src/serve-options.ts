import type { ClientTools } from './client-tool.js';
import type { InterruptKind, ResolveInterruptInput } from './generated/graphql.js';
import type { ApprovalRequest, QuestionRequest } from './interrupt.js';

/**
 * What is decided about a call: it runs, it does not, or it runs with other arguments. `undefined` leaves it to others: the
 * request stays open.
 */
export type Approval =
  'approve' | 'deny' | { readonly edit: Readonly<Record<string, unknown>> } | { readonly deny: string } | undefined;

/** The answer to a question: see docs/interrupts.md. `undefined` leaves it to others. */
export type Answer = Pick<ResolveInterruptInput, 'action' | 'data' | 'reason'> | undefined;

/** Aborts when another person has answered, or the job was cancelled. */
export interface DecisionContext {
  readonly signal: AbortSignal;
}

/** `Decision` keeps what a handler returns as literals, so that `async () => 'deny'` is an approval and not a `Promise<string>`. */
export type OnApproval<Decision extends Approval = Approval> = (
  request: ApprovalRequest,
  context: DecisionContext,
) => Decision | Promise<Decision>;
export type OnQuestion = (request: QuestionRequest, context: DecisionContext) => Answer | Promise<Answer>;

/** What this client does for a job. */
export interface ServeOptions<Decision extends Approval = Approval> {
  /** Runs the calls of these tools, for as long as the job lives. */
  readonly tools?: ClientTools | undefined;
  /** Asked about each call that needs an approval which we may give, also in jobs below. */
  readonly onApproval?: OnApproval<Decision> | undefined;
  /** Asked each question that we may answer, also of jobs below. */
  readonly onQuestion?: OnQuestion | undefined;
  /**
   * Called with each error: what a tool threw, an answer that was rejected; without a request, why the serving of a start has ended
   * before its job.
   */
  readonly onError?: ((error: unknown, request?: OpenRequest) => void) | undefined;
  /** Ends the serving; what is under way is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** A request as the log shows it. */
export interface OpenRequest {
  readonly id: string;
  readonly kind: InterruptKind;
  readonly callId: string | null;
  readonly title: string;
  /** What is asked, by kind: docs/interrupts.md. */
  readonly request: Readonly<Record<string, unknown>>;
}

/** A request while it is open. */
export interface OfferedRequest extends OpenRequest {
  readonly jobId: string;
  /** Aborts when the request is settled, or serving has ended. */
  readonly signal: AbortSignal;
}
