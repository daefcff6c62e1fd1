import { pause } from './back-off.js';
import { handlerOf } from './client-tool.js';
import { asking, type Connection } from './connection.js';
import { followJob, isTerminal, type JobEvent } from './follow-job.js';
import {
  ClaimClientToolDocument,
  type ClaimClientToolMutation,
  InterruptDocument,
  ResolveInterruptDocument,
  type ResolveInterruptInput,
  SubJobsDocument,
  SubmitClientToolResultDocument,
  ValidateClientToolDocument,
} from './generated/graphql.js';
import type { ApprovalRequest, Interrupt, QuestionRequest } from './interrupt.js';
import { NightshiftError } from './nightshift-error.js';
import type { Approval, OfferedRequest, OpenRequest, ServeOptions } from './serve-options.js';
import { assertTaken } from './to-failure.js';

/** Codes of refusals that need no further work: another client was faster, or the request is settled. */
const isSettled = new Set(['already_answered', 'expired', 'not_found', 'not_pending']);

/** Asks the application to decide a request that the caller may decide, and sends the decision. */
async function serveDecision(
  { http }: Connection,
  { id, signal }: OfferedRequest,
  decide: (request: Interrupt) => Promise<Omit<ResolveInterruptInput, 'id'> | undefined>,
): Promise<void> {
  try {
    const { interrupt } = await http.execute(InterruptDocument, { id }, { signal, retry: 'briefly' });
    if (interrupt === null || interrupt.status !== 'OPEN' || !interrupt.mayDecide) return;
    const answer = await decide(interrupt);
    if (answer === undefined || signal.aborted) return;
    const input = { ...answer, id };
    const { resolveInterrupt } = await http.execute(
      ResolveInterruptDocument,
      { input },
      { signal, retry: 'patiently' },
    );
    assertTaken(resolveInterrupt);
  } catch (error) {
    if (signal.aborted || (error instanceof NightshiftError && isSettled.has(error.code))) return;
    throw error;
  }
}

/** Converts an approval to a decision for exactly the arguments that were shown. */
function toDecision(approval: Approval, { request }: Interrupt): Omit<ResolveInterruptInput, 'id'> | undefined {
  if (approval === undefined) return undefined;
  if (approval === 'deny') return { decision: 'DENY' };
  if (approval !== 'approve' && 'deny' in approval) return { decision: 'DENY', reason: approval.deny };
  const { argumentsHash } = request as { readonly argumentsHash?: string }; // docs/approvals.md: what a request shows
  const edited = approval === 'approve' ? {} : { arguments: approval.edit };
  return { decision: 'APPROVE', argumentsHash, ...edited };
}

type Claim = NonNullable<ClaimClientToolMutation['claimClientTool']['claim']>;

/** Codes of refusals after which this client may still get the call. */
const mayLapse = new Set(['already_claimed', 'claim_changed', 'claim_lost']);
/** Codes of refusals because another client has the call, which is how most races end. */
const isLost = new Set(['other_device', 'not_pending', 'not_found']);

/**
 * Claims a call, runs its tool and sends the outcome. One of several clients wins; the others wait until the call is settled, in case the
 * winner stops before it has started the tool.
 */
async function serveClientTool(connection: Connection, call: OfferedRequest, options: ServeOptions): Promise<void> {
  const { tool, deviceId } = call.request;
  const isOurs = typeof tool === 'string' && handlerOf(options.tools ?? {}, tool) !== undefined;
  if (!isOurs || (typeof deviceId === 'string' && deviceId !== connection.deviceId)) return;
  while (!call.signal.aborted) {
    try {
      const claim = await claimCall(connection, call);
      await runClaimed(connection, { call, claim }, options);
      return;
    } catch (error) {
      if (isAborted(call)) return;
      if (!(error instanceof NightshiftError)) throw error;
      if (isLost.has(error.code)) return;
      // A claim whose response was lost also expires after a while.
      if (!mayLapse.has(error.code) && !error.retryable) throw error;
      await pause(connection.claimMs * (0.5 + Math.random()), call.signal).catch(() => undefined);
    }
  }
}

async function claimCall({ http, deviceId }: Connection, { jobId, callId, signal }: OfferedRequest): Promise<Claim> {
  const input = { jobId, callId: callId ?? '', deviceId };
  const { claimClientTool } = await http.execute(ClaimClientToolDocument, { input }, { signal, retry: 'never' });
  assertTaken(claimClientTool);
  if (claimClientTool.claim === null)
    throw new NightshiftError('The response contains no claim', { code: 'bad_response' });
  return claimClientTool.claim;
}

interface Claimed {
  readonly call: OfferedRequest;
  readonly claim: Claim;
}

async function runClaimed(connection: Connection, { call, claim }: Claimed, options: ServeOptions): Promise<void> {
  const { http } = connection;
  const { jobId, signal } = call;
  const { callId, claimToken } = claim;
  const asked = { input: { jobId, callId, claimToken } };
  const { validateClientTool } = await http.execute(ValidateClientToolDocument, asked, { signal, retry: 'briefly' });
  assertTaken(validateClientTool);
  if (validateClientTool.valid !== true)
    throw new NightshiftError('The server withdrew the call; do not run it', { code: 'claim_changed' });
  const outcome = await runTool({ call, claim }, options);
  const input = { jobId, callId, claimToken, ...outcome };
  // The tool has run, so the client sends its outcome even after serving has ended, until the server accepts or rejects it.
  const timeout = asking(connection, undefined, 'patiently');
  const { submitClientToolResult } = await http.execute(SubmitClientToolResultDocument, { input }, timeout);
  assertTaken(submitClientToolResult);
}

async function runTool({ call, claim }: Claimed, options: ServeOptions) {
  const { jobId, signal } = call;
  const { callId, name } = claim;
  try {
    const run = handlerOf(options.tools ?? {}, name);
    if (run === undefined) throw new Error(`This client has no tool "${name}"`);
    const given: unknown = JSON.parse(claim.arguments === '' ? '{}' : claim.arguments);
    const result: unknown = await run(given as Record<string, unknown>, { jobId, callId, name, signal }); // the arguments match the tool's schema
    // A tool that returns nothing yields `null`.
    return { result: typeof result === 'string' ? result : JSON.stringify(result ?? null) };
  } catch (error) {
    options.onError?.(error, call);
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

function isAborted({ signal }: OfferedRequest): boolean {
  return signal.aborted;
}

/**
 * Serves a job until it ends. Handles each open request once, even if the log shows it again. The same handlers get the requests that its
 * sub-jobs make to people, such as those of a workflow that was called as a tool.
 */
export async function serveJob(connection: Connection, jobId: string, options: ServeOptions): Promise<void> {
  const serving = new Serving(connection, jobId, options);
  const { signal } = options;
  try {
    for await (const event of followJob(connection, { jobId, after: undefined, signal })) serving.take(event);
  } finally {
    await serving.end();
  }
}

interface Taken {
  readonly settled: AbortController;
  readonly done: Promise<void>;
}

class Serving {
  private readonly taken = new Map<string, Taken>();
  /** The sub-jobs that are served, and the queries for them. */
  private readonly subJobs = new Map<string, Promise<void>>();
  private readonly ending = new AbortController();

  constructor(
    private readonly connection: Connection,
    private readonly jobId: string,
    private readonly options: ServeOptions,
  ) {}

  take(event: JobEvent): void {
    if (event.__typename === 'JobSnapshotEvent') {
      const open = new Set(event.interrupts.map(({ id }) => id));
      for (const id of this.taken.keys()) if (!open.has(id)) this.settle(id);
      for (const shown of event.interrupts) this.begin(toOpenRequest(shown));
      this.serveOnce(`before ${event.seq}`, (options) => this.findSubJobs(options.signal));
    } else if (event.__typename === 'ToolProgressEvent' && event.subJobId !== null) {
      this.serveSubJob(event.subJobId);
    } else if (event.__typename === 'InterruptOpenedEvent') {
      this.begin(toOpenRequest({ ...event, id: event.interruptId }));
    } else if (event.__typename === 'InterruptResolvedEvent') {
      this.settle(event.interruptId);
    }
  }

  /** Aborts all open requests, and waits until all work has ended. */
  async end(): Promise<void> {
    const done = [...this.taken.values()].map((one) => one.done);
    for (const id of this.taken.keys()) this.settle(id);
    this.ending.abort();
    await Promise.all([...done, ...this.subJobs.values()]);
  }

  /** A snapshot does not contain the sub-jobs of calls, so the client queries them. */
  private async findSubJobs(signal: AbortSignal): Promise<void> {
    const { job } = await this.connection.http.execute(
      SubJobsDocument,
      { id: this.jobId },
      asking(this.connection, signal, 'patiently'),
    );
    for (const { id, status } of job?.subJobs ?? []) if (!isTerminal(status)) this.serveSubJob(id);
  }

  private serveSubJob(jobId: string): void {
    this.serveOnce(jobId, (options) => serveJob(this.connection, jobId, options));
  }

  /** Serves a sub-job with the handlers for people only: the tools of this client run calls of this job only. */
  private serveOnce(
    name: string,
    work: (options: ServeOptions & { readonly signal: AbortSignal }) => Promise<void>,
  ): void {
    const { onApproval, onQuestion, onError } = this.options;
    const { signal } = this.ending;
    if (this.subJobs.has(name) || signal.aborted || (onApproval ?? onQuestion) === undefined) return;
    const done = work({ onApproval, onQuestion, onError, signal }).catch((error: unknown) => {
      if (!signal.aborted) onError?.(error);
    });
    this.subJobs.set(name, done);
  }

  private begin(request: OpenRequest): void {
    if (this.taken.has(request.id)) return;
    const settled = new AbortController();
    const call: OfferedRequest = { ...request, jobId: this.jobId, signal: settled.signal };
    const done = this.serve(call).catch((error: unknown) => this.options.onError?.(error, request));
    this.taken.set(request.id, { settled, done });
  }

  private settle(id: string): void {
    this.taken.get(id)?.settled.abort();
    this.taken.delete(id);
  }

  private async serve(call: OfferedRequest): Promise<void> {
    const { onApproval, onQuestion } = this.options;
    const { signal } = call;
    // The kind determines the fields of the request: docs/interrupts.md.
    if (call.kind === 'CLIENT_TOOL') await serveClientTool(this.connection, call, this.options);
    else if (call.kind === 'TOOL_APPROVAL' && onApproval !== undefined)
      await serveDecision(this.connection, call, async (shown) =>
        toDecision(await onApproval(shown as ApprovalRequest, { signal }), shown),
      );
    else if (call.kind === 'HUMAN_INPUT' && onQuestion !== undefined)
      await serveDecision(this.connection, call, async (shown) => onQuestion(shown as QuestionRequest, { signal }));
  }
}

type Shown = Omit<OpenRequest, 'request'> & { readonly request: unknown };

function toOpenRequest({ id, kind, callId, title, request }: Shown): OpenRequest {
  return { id, kind, callId, title, request: request as OpenRequest['request'] }; // every kind of request is an object
}
