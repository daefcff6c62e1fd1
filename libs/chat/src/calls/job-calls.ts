import type { JobCloser } from '#approvals';
import {
  CancelRequested,
  endsJob,
  interruptOpened,
  JobCancelled,
  type NewJobEvent,
  openInterruptRow,
  type PartRow,
} from '#jobs';
import { defined, newId } from '#platform';
import {
  type CallState,
  hookApplied,
  isOpen,
  type LedgerCall,
  notRegistered,
  openCallRow,
  parseArguments,
  type PlannedCall,
  queueCallRows,
  type QueuedCall,
  settleCallRow,
  startCallRow,
  type ToolOutcome,
  toToolCallItem,
  validateArguments,
} from '#tools';

import type { ConversationHooks, StepHooks } from '../hooks/conversation-hooks.js';
import type { CallResult, LoopCall, LoopStep } from '../loop/loop-step.js';
import type { CallRoute, CallRoutes } from './call-route.js';
import type { CallRouter, RouteContext, RoutedCall } from './call-router.js';
import { atNode, type CallingRun } from './calling-run.js';
import type { DeferredRoundCommit } from './deferred-round-commit.js';
import type { RoundFinished } from './round-write.js';
import type { SentCalls } from './sent-calls.js';
import type { RunnableCall, ToolRunner } from './tool-runner.js';

type RunStep = Extract<LoopStep, { type: 'run-calls' }>;

/** The services that route, run and close calls. */
export interface CallServices {
  readonly router: CallRouter;
  readonly tools: ToolRunner;
  readonly sent: SentCalls;
  readonly closer: JobCloser;
  readonly hooks: ConversationHooks;
}

/** A new round, and the routes of its calls. */
interface RoutedRound {
  /** The round with the arguments that hooks have changed; the same object if they have changed none. */
  readonly step: RoundFinished;
  readonly routes: CallRoutes;
  /** Events of the changes that hooks made to its calls. */
  readonly applied: readonly NewJobEvent[];
}

/** A route, and events of the changes that hooks made. */
interface HookedRoute {
  readonly route: CallRoute;
  readonly applied: readonly NewJobEvent[];
}

/** The calls of one run of a conversation: routes them, knows which calls are open, and closes those at the end of the run. */
export class JobCalls {
  private readonly ledger: ReadonlyMap<string, LedgerCall>;
  /** Unsettled calls, each with the id of its request. */
  private readonly open = new Map<string, string | null>();
  /** A tool could not report the outcome of its call: the tool's policy is applied before the next round. */
  hasUndecided = false;
  readonly hooks: StepHooks;
  private fresh: { readonly round: number; readonly routes: CallRoutes } | undefined;

  constructor(
    private readonly run: CallingRun,
    private readonly services: CallServices,
    private readonly context: RouteContext,
    calls: readonly LedgerCall[],
  ) {
    this.hooks = services.hooks.of(run, context.job.agent);
    this.ledger = new Map(calls.map((call) => [keyOf(call), call]));
    for (const call of calls) {
      const interruptId = call.state?.interruptId ?? null;
      if (isOpen(call.status) || interruptId !== null) this.open.set(keyOf(call), interruptId);
    }
  }

  /** The requests that the job waits for. */
  get interruptIds(): readonly string[] {
    return [...this.open.values()].filter((interruptId) => interruptId !== null);
  }

  /** Calls that run elsewhere, each as `<round>:<ordinal>`: the job waits for them without a request. */
  get elsewhere(): readonly string[] {
    return [...this.open].flatMap(([key, interruptId]) => (interruptId === null ? [key] : []));
  }

  /** Reserves ids for calls that clients will see; returns those that belong to another job. */
  reserveIds(callIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.services.router.reserveIds(this.run.job, callIds);
  }

  /** Decides the routes of a new round's calls before the round is committed. `withheld`: tools that hooks have removed from the request. */
  async routeRound(planned: RoundFinished, withheld: ReadonlySet<string> = NONE): Promise<RoutedRound> {
    const { round } = planned;
    const open = planned.calls.filter(({ disposition }) => disposition.type !== 'settled');
    const entries = await Promise.all(
      open.map(async (call) => {
        const [toolCallId, interruptId] = [newId(), newId()];
        const routed = { ...call, round, toolCallId, interruptId, state: null };
        const unknown = this.context.unknownTool ?? notRegistered;
        const {
          route,
          arguments: args,
          applied,
        } = withheld.has(call.name)
          ? { route: deniedBy(unknown(call.name)), arguments: call.arguments, applied: [] }
          : await this.routeNew(routed, call);
        return { ordinal: call.ordinal, route: { ...route, toolCallId }, args, applied };
      }),
    );
    const routes: CallRoutes = new Map(entries.map(({ ordinal, route }) => [ordinal, route]));
    this.fresh = { round, routes };
    const args = new Map(entries.map((entry) => [entry.ordinal, entry.args]));
    const isChanged = open.some((call) => args.get(call.ordinal) !== call.arguments);
    const calls = planned.calls.map((call) => ({ ...call, arguments: args.get(call.ordinal) ?? call.arguments }));
    const applied = entries.flatMap((entry) => entry.applied);
    return { step: isChanged ? { ...planned, calls } : planned, routes, applied };
  }

  /**
   * Routes a new call after its hooks. If they change its arguments, it is judged again, so that an approver sees the arguments that will
   * run.
   */
  private async routeNew(
    call: RoutedCall,
    { effect }: Pick<PlannedCall, 'effect'>,
  ): Promise<{ readonly route: CallRoute; readonly arguments: string; readonly applied: readonly NewJobEvent[] }> {
    const { round, callId, name: tool } = call;
    const parsed = parseArguments(call.arguments);
    // If the arguments are invalid, the route reports it to the model.
    if (!this.hooks.has('beforeToolCall', tool) || !parsed.ok)
      return { route: await this.route(call), arguments: call.arguments, applied: [] };
    // The first judgement is a preview: a call that a hook denies, answers or changes uses no grant.
    const route = await this.route({ ...call, isPreview: true });
    if (route.type === 'refused') return { route, arguments: call.arguments, applied: [] };
    const parameters = await this.services.router.schemaOf(this.context, tool);
    const step = { callId, tool, arguments: parsed.value, effect, approval: approvalSoFar(route) };
    const { event, end, applied } = await this.hooks.beforeCall(step, (args) => {
      const valid = validateArguments({ name: tool, parameters }, JSON.stringify(args));
      return valid.ok ? null : valid.message;
    });
    const args = event.arguments === parsed.value ? call.arguments : JSON.stringify(event.arguments);
    const hooked = { arguments: args, applied: hookApplied(applied, { round, callId }) };
    if (end?.type === 'denied') return { ...hooked, route: deniedBy(end.reason, end.code) };
    if (end?.type === 'result')
      return { ...hooked, route: { type: 'answered', outcome: this.answerOf(callId, end.value) } };
    const asking = applied.find(({ what }) => what.includes('requireApproval'));
    if (asking === undefined && args === call.arguments)
      return { ...hooked, route: approvalSoFar(route) === 'approved' ? await this.route(call) : route };
    const mustAsk = asking === undefined ? {} : { mustAsk: `The hook "${asking.hook}" asks: ${asking.reason}` };
    return { ...hooked, route: await this.route({ ...call, arguments: args, ...mustAsk }) };
  }

  /** The outcome of a call whose result a hook returned. */
  private answerOf(callId: string, value: unknown): ToolOutcome {
    return this.hooks.outcomeOf(callId, typeof value === 'string' ? value : JSON.stringify(value));
  }

  /** Call it after the round and its routes were committed. `cancelled`: none of its calls was started. */
  committed({ round, calls }: RoundFinished, { cancelled }: { readonly cancelled: boolean }): void {
    if (cancelled) this.fresh = { round, routes: new Map() };
    if (!cancelled && [...(this.fresh?.routes.values() ?? [])].some(({ type }) => type === 'queue'))
      this.services.sent.queued(this.run.job);
    for (const call of calls) {
      const route = this.fresh?.routes.get(call.ordinal);
      if (route === undefined || route.type === 'refused' || route.type === 'answered') continue;
      this.open.set(keyOf({ round, ordinal: call.ordinal }), route.type === 'open' ? route.interrupt.id : null);
    }
  }

  /** Runs the open calls of the round that may run. A call without a result in the returned list is still open. */
  async settle(step: RunStep, deferredRound: DeferredRoundCommit | undefined): Promise<readonly CallResult[]> {
    const { round, calls } = step;
    const results: CallResult[] = [];
    const runnable: RunnableCall[] = [];
    const isStarted = this.fresh?.round === round;
    if (isStarted) await this.startJobs();
    for (const call of calls) {
      const route = isStarted ? this.fresh?.routes.get(call.ordinal) : await this.reroute(round, call);
      if (route?.type === 'run') runnable.push(this.toRunnable(round, call, route));
      if (route?.type === 'refused') results.push(refused(call, route));
      if (route?.type === 'answered')
        results.push({ ordinal: call.ordinal, status: route.outcome.status, text: route.outcome.modelText });
    }
    const ran = await this.services.tools.runCalls(this.run, runnable, {
      round,
      isStarted,
      deferredRound,
      hooks: this.hooks,
    });
    const ended = deferredRound?.wasAbortedUnwritten === true ? runnable : [...results, ...ran];
    for (const { ordinal } of ended) this.open.delete(keyOf({ round, ordinal }));
    const decided = this.run.signal.aborted ? ran : ran.filter(({ status }) => status !== 'interrupted');
    this.hasUndecided = decided.length < ran.length;
    return [...results, ...decided];
  }

  /** Whether another worker continues the job after this run. */
  get continuesElsewhere(): boolean {
    const { signal } = this.run;
    return signal.aborted && !endsJob(signal.reason);
  }

  /** Closes all open calls of the conversation and their requests. */
  async close(): Promise<void> {
    if (this.open.size === 0) return;
    const { job, node } = this.run;
    await this.run.commit(); // a call can be closed only after its row was written
    await this.services.closer.close(job, node === undefined ? undefined : [...this.open.keys()].map(roundOf));
    this.open.clear();
  }

  /** Starts the sub-jobs of the round that was just committed. */
  private async startJobs(): Promise<void> {
    const routes = [...(this.fresh?.routes.values() ?? [])];
    const ids = routes.flatMap(({ type, toolCallId }) => (type === 'sub-job' ? [toolCallId] : []));
    await this.services.sent.asJobs(this.run.job, ids);
  }

  private async route(call: RoutedCall): Promise<CallRoute> {
    const route = await this.services.router.route(this.context, call);
    return route.type === 'open' ? { ...route, interrupt: atNode(route.interrupt, this.run.node) } : route;
  }

  /** Routes a call that another lease left open. Returns undefined if another process runs the call, or a request is open. */
  private async reroute(round: number, call: LoopCall): Promise<CallRoute | undefined> {
    const known = this.ledger.get(keyOf({ round, ordinal: call.ordinal }));
    const state = known?.state ?? null;
    if (known === undefined || state === null) return undefined;
    const isElsewhere = known.status === 'running' && state.executor !== 'worker';
    if (state.interruptId !== null || isElsewhere) return undefined;
    const { route, applied } =
      (await this.deniedEdit(known, state)) ??
      toUnchanged(await this.route({ ...known, toolCallId: state.id, interruptId: newId(), state }));
    if (route.type === 'refused') {
      const { status, failure, approval } = route;
      const item = toToolCallItem({ ...known, status, error: failure });
      this.run.append({
        rows: [settleCallRow(this.run.job, known, { status, failure, approval })],
        events: [...applied, { type: 'tool-call-updated', body: { round, internalStatus: status, call: item } }],
      });
    }
    if (route.type === 'open') this.park(known, route);
    if (route.type === 'queue') {
      const { toolVersion, ttlMs, concurrency } = route;
      const queued: QueuedCall = {
        ...known,
        arguments: state.approvedArguments ?? known.arguments,
        toolVersion,
        ttlMs,
        concurrency,
      };
      if (await this.send(known, queueCallRows(this.run.job, queued))) this.services.sent.queued(this.run.job);
    }
    if (route.type === 'sub-job' && (await this.send(known, [startCallRow(this.run.job, known, 'job')])))
      await this.services.sent.asJobs(this.run.job, [state.id]);
    return route;
  }

  /**
   * Runs the hooks on arguments that an approver has edited. A change by a hook was not approved, so the call is denied if a hook denies,
   * changes or answers it. Returns null if no one edited the arguments, or the hooks let the call run.
   */
  private async deniedEdit(call: LedgerCall, { approvedArguments }: CallState): Promise<HookedRoute | null> {
    const { round, callId, name: tool, effect } = call;
    if (!this.hooks.has('beforeToolCall', tool) || approvedArguments === null || approvedArguments === call.arguments)
      return null;
    const parsed = parseArguments(approvedArguments);
    if (!parsed.ok) return null; // the tool reports the error
    const step = { callId, tool, arguments: parsed.value, effect, approval: 'approved' as const };
    const { event, end, applied } = await this.hooks.beforeCall(step, () => null);
    if (end === null && event.arguments === parsed.value) return null;
    const [reason, code] =
      end?.type === 'denied'
        ? [end.reason, end.code]
        : [`The hook "${applied.at(-1)?.hook ?? ''}" does not accept the edited arguments.`, 'hook_denied' as const];
    return { route: deniedBy(reason, code), applied: hookApplied(applied, { round, callId }) };
  }

  private park(call: LedgerCall, { status, executor, interrupt }: Extract<CallRoute, { type: 'open' }>): void {
    const { job } = this.run;
    const item = toToolCallItem({ ...call, status });
    this.run.append({
      rows: [openCallRow(job, call, { status, executor }), openInterruptRow(job, interrupt)],
      events: [
        { type: 'tool-call-updated', body: { round: call.round, internalStatus: status, call: item } },
        interruptOpened(interrupt),
      ],
    });
    this.open.set(keyOf(call), interrupt.id);
  }

  /** Commits the start of an approved call that runs elsewhere. Returns false if a cancel was requested first. */
  private async send(call: LedgerCall, rows: readonly PartRow[]): Promise<boolean> {
    const item = toToolCallItem({ ...call, status: 'running' });
    const body = { round: call.round, internalStatus: 'running', call: item };
    const write = { rows, events: [{ type: 'tool-call-updated', body } as const] };
    if (!(await unlessCancelled(this.run, () => this.run.commitUnlessCancelled(write)))) return false;
    this.open.set(keyOf(call), null);
    return true;
  }

  private toRunnable(round: number, call: LoopCall, { toolVersion }: { readonly toolVersion: string }): RunnableCall {
    const state = this.ledger.get(keyOf({ round, ordinal: call.ordinal }))?.state;
    const toRun = state?.approvedArguments ?? call.arguments;
    return { ...call, toRun, toolVersion, attempt: (state?.attempts ?? 0) + 1 };
  }
}

/** Runs a write that starts an external effect; if a cancel is requested, aborts the run and returns false. */
export async function unlessCancelled(run: CallingRun, write: () => Promise<void>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (!(error instanceof CancelRequested)) throw error;
    run.abort(new JobCancelled(error.why));
    return false;
  }
}

const NONE: ReadonlySet<string> = new Set();

function toUnchanged(route: CallRoute): HookedRoute {
  return { route, applied: [] };
}

function deniedBy(message: string, code?: 'hook_denied' | 'hook_failed'): CallRoute {
  const failure = { phase: 'approval', message, ...defined({ code }) } as const;
  return { type: 'refused', status: 'denied', approval: 'blocked', failure };
}

function approvalSoFar(route: CallRoute): 'none' | 'required' | 'approved' {
  if (route.type === 'open') return route.status === 'awaiting_approval' ? 'required' : 'none';
  return 'approval' in route && route.approval === 'grant' ? 'approved' : 'none';
}

/** The result of a call that must not run. Its receipt contains only why it was refused, and no earlier approval. */
function refused({ ordinal }: LoopCall, route: Extract<CallRoute, { type: 'refused' }>): CallResult {
  const { status, approval, failure } = route;
  const receipt = approval === null ? {} : { receipt: { approval, edited: null } };
  return { ordinal, status, text: failure.message, ...receipt };
}

function roundOf(key: string): number {
  return Number.parseInt(key, 10);
}

function keyOf({ round, ordinal }: { readonly round: number; readonly ordinal: number }): string {
  return `${round}:${ordinal}`;
}
