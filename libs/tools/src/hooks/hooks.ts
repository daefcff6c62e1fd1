import type { ActionContext, HookContext, HookDefinition, HookedJob, HookEvent, HookEvents } from '@nightshift/plugin';

import { actionKinds } from '#jobs';
import type { Clock, Logger, Metrics, Redactor } from '#platform';

import { type Denied, foldOutcome, type HookEnd, UnfitOutcome } from './fold-outcome.js';
import { compileMatch, type Matcher } from './hook-match.js';
import { type FilterEvent, readOutcome } from './hook-outcome.js';

/** A change by a hook, as it is recorded. */
export interface AppliedHook {
  readonly hook: string;
  readonly on: FilterEvent;
  /** The members of its outcome that changed the step, or `hook_failed`. */
  readonly what: readonly string[];
  /** At most 1,000 characters, without known secrets; empty: none was given. */
  readonly reason: string;
}

/** The result of the hooks for an event. */
export interface Filtered<On extends FilterEvent> {
  /** With all changes. */
  readonly event: HookEvents[On];
  /** How a hook has ended the step; null: the step continues with `event`. */
  readonly end: HookEnd<On> | null;
  /** In the order of the changes; empty: no hook changed the step. The caller stores the list with the step, in one commit. */
  readonly applied: readonly AppliedHook[];
}

/** Options of a filter run. */
export interface FilterOptions<On extends FilterEvent = FilterEvent> {
  /** The signal of the job; its abort ends the hooks. */
  readonly signal?: AbortSignal;
  /** False: the round was restarted before, so a hook that restarts it again fails. */
  readonly mayRestart?: boolean;
  /** What is wrong with a changed event, as a clause; null: nothing. A hook whose change has a problem fails. */
  readonly problemOf?: (event: HookEvents[On]) => string | null;
}

/** Kinds of hooks that change nothing. */
export type ActionEvent = Exclude<HookEvent, FilterEvent>;

/** What the context of an action has besides that of a filter. */
type ActionMembers = Pick<ActionContext, 'idempotencyKey' | 'attempt'>;

/** One run of an action. */
interface Action<On extends ActionEvent> extends ActionMembers {
  readonly event: HookEvents[On];
  /** When it is aborted, the action ends as failed. */
  readonly signal: AbortSignal;
}

/** `skipped`: the hook does not match the event. `missing`: this process does not have the hook. */
export type ActionOutcome = 'done' | 'skipped' | 'missing';

/** The plugin of a hook. */
interface Manifest {
  readonly name: string;
  readonly secrets: readonly string[];
}

interface Registered {
  readonly plugin: Manifest;
  readonly hook: HookDefinition;
}

interface CompiledHook extends Registered {
  readonly matches: Matcher;
  readonly mayMatch: Matcher;
}

/** Dependencies of hooks. */
export interface HookHost {
  readonly contexts: {
    servicesFor(
      plugin: Manifest,
      user: Pick<HookedJob, 'workspaceId' | 'userId'>,
      ids: Readonly<Record<string, unknown>>,
    ): Pick<HookContext, 'secrets' | 'fetch' | 'logger' | 'files'>;
    userIdOf(workspaceId: string, principal: string): Promise<string | null>;
  };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly redactor: Redactor;
}

const PRIORITY = 100;
const TIMEOUT_MS = 2_000;
const MAX_REASON_LENGTH = 1_000;

/**
 * The hooks of this process: lower priorities first, then in the order in which they were loaded. A hook fails if it throws, exceeds its
 * timeout, or returns a value that is not an outcome; failures are logged and counted. After a failure the step continues without the hook,
 * or is denied (`failure: 'closed'`).
 */
export class Hooks {
  private readonly byEvent: ReadonlyMap<HookEvent, readonly CompiledHook[]>;
  private readonly runs;
  private readonly seconds;

  constructor(
    registered: readonly Registered[],
    private readonly host: HookHost,
  ) {
    const sorted = registered.map(compiled).sort((a, b) => priorityOf(a) - priorityOf(b)); // stable
    this.byEvent = Map.groupBy(sorted, ({ hook }) => hook.on);
    this.runs = hookRuns(host.metrics);
    this.seconds = hookSeconds(host.metrics);
  }

  /**
   * Whether this process has a hook of this kind that may match an event with the fields that are `known` so far. If not, the caller need not
   * build the event.
   */
  has<On extends HookEvent>(on: On, known?: Partial<HookEvents[On]>): boolean {
    const hooks = this.byEvent.get(on);
    if (hooks === undefined || known === undefined) return hooks !== undefined;
    return hooks.some(({ mayMatch }) => mayMatch(known));
  }

  /** How long the hooks of a kind may take together, ms. */
  longestMs(on: HookEvent): number {
    return (this.byEvent.get(on) ?? []).reduce((sum, { hook }) => sum + (hook.timeoutMs ?? TIMEOUT_MS), 0);
  }

  /** The person behind a principal, for events; null: the system, or a person who is no longer a member. */
  userIdOf(workspaceId: string, principal: string): Promise<string | null> {
    return this.host.contexts.userIdOf(workspaceId, principal);
  }

  /**
   * Runs the filters that match; each filter gets the changes of earlier ones. Rejects only if `signal` aborts, with its reason. Do not
   * filter a stored step again: the job continues from its stored outcome.
   */
  async filter<On extends FilterEvent>(
    on: On,
    event: HookEvents[On],
    options: FilterOptions<On> = {},
  ): Promise<Filtered<On>> {
    let filtered: Filtered<On> = { event, end: null, applied: [] };
    for (const found of this.byEvent.get(on) ?? []) {
      const isMatch = matchOf(found, filtered.event);
      if (isMatch === false) continue;
      filtered = await this.step(found, filtered, { ...options, on, isMatch });
      if (filtered.end !== null) break;
    }
    return filtered;
  }

  /** The actions of this process. */
  get actions(): readonly { readonly on: ActionEvent; readonly hook: string }[] {
    return actionKinds.flatMap((on) => (this.byEvent.get(on) ?? []).map(({ hook }) => ({ on, hook: hook.name })));
  }

  /** Runs an action. Rejects if it fails, and logs and counts the failure. */
  async act<On extends ActionEvent>(
    on: On,
    name: string,
    { event, signal, ...own }: Action<On>,
  ): Promise<ActionOutcome> {
    const found = this.byEvent.get(on)?.find(({ hook }) => hook.name === name);
    if (found === undefined) return 'missing';
    const isMatch = matchOf(found, event);
    if (isMatch === false) return 'skipped';
    const stop = this.seconds.startTimer({ hook: name, on });
    try {
      assertAnswered(isMatch);
      await this.run(found, event, { signal, own });
      this.runs.inc({ hook: name, on, outcome: 'unchanged' });
      return 'done';
    } catch (error) {
      this.noteFailure(found, event, error);
      throw error;
    } finally {
      stop();
    }
  }

  /** One filter. */
  private async step<On extends FilterEvent>(
    found: CompiledHook,
    before: Filtered<On>,
    { on, isMatch, ...options }: FilterOptions<On> & { readonly on: On; readonly isMatch: boolean | Failed },
  ): Promise<Filtered<On>> {
    const { name, failure } = found.hook;
    const { signal, mayRestart, problemOf } = options;
    signal?.throwIfAborted();
    const stop = this.seconds.startTimer({ hook: name, on });
    try {
      assertAnswered(isMatch);
      const after = this.fold(found, before, { on, returned: await this.run(found, before.event, { signal }) });
      if (after.end?.type === 'restarted' && mayRestart === false)
        throw new UnfitOutcome('it restarted the round a second time');
      const problem = after.event === before.event ? null : (problemOf?.(after.event) ?? null);
      if (problem !== null) throw new UnfitOutcome(problem);
      this.runs.inc({ hook: name, on, outcome: after === before ? 'unchanged' : 'changed' });
      return after;
    } catch (error) {
      signal?.throwIfAborted();
      const reason = this.noteFailure(found, before.event, error);
      if (failure !== 'closed') return before;
      const end: Denied = { type: 'denied', code: 'hook_failed', reason: `The hook "${name}" failed.` };
      const applied = [...before.applied, { hook: name, on, what: ['hook_failed'], reason }];
      return { event: before.event, end, applied };
    } finally {
      stop();
    }
  }

  private fold<On extends FilterEvent>(
    { hook }: CompiledHook,
    before: Filtered<On>,
    { on, returned }: { readonly on: On; readonly returned: unknown },
  ): Filtered<On> {
    const read = readOutcome(on, returned);
    if ('problem' in read) throw new UnfitOutcome(read.problem);
    if (read.outcome === null) return before;
    const redactor = this.host.redactor.of(before.event.workspaceId);
    const reason = redactor.redact(reasonIn(read.outcome)).slice(0, MAX_REASON_LENGTH);
    if (foldOutcome(on, before.event, read.outcome).what.length === 0) return before; // what a hook did not change stays as it is
    const outcome = withoutSecrets(read.outcome, (text) => redactor.redact(text));
    const { event, end, what } = foldOutcome(on, before.event, outcome);
    if (what.length === 0) return before;
    const shown = end !== null && 'reason' in end ? { ...end, reason } : end;
    return { event, end: shown, applied: [...before.applied, { hook: hook.name, on, what, reason }] };
  }

  /** The value that the hook returns, unless its timeout or the abort of the job comes first; a late value is ignored. */
  private async run(
    { hook, plugin }: CompiledHook,
    event: HookEvents[HookEvent],
    { signal, own }: { readonly signal: AbortSignal | undefined; readonly own?: ActionMembers },
  ): Promise<unknown> {
    signal?.throwIfAborted(); // an aborted signal has no more events
    const { clock, contexts } = this.host;
    const { timeoutMs = TIMEOUT_MS } = hook;
    const controller = new AbortController();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = (reason: unknown) => {
      reject(reason); // of any type, as that of a signal
      controller.abort(reason);
    };
    const stop = () => {
      abort(signal?.reason);
    };
    const timer = clock.after(timeoutMs, () => {
      abort(new DOMException(`it did not return within ${timeoutMs} ms`, 'TimeoutError'));
    });
    signal?.addEventListener('abort', stop, { once: true });
    try {
      const { files, ...services } = contexts.servicesFor(plugin, event, { jobId: event.jobId, hook: hook.name });
      const context: HookContext = {
        ...own,
        signal: controller.signal,
        now: () => clock.now(),
        ...services,
        files: { get: (hash) => files.get(hash) },
      };
      // A copy, so that changes by the hook do not affect the event of the server.
      const work = (async () => hook.run(structuredClone(event), context))();
      return await Promise.race([work, aborted]);
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', stop);
    }
  }

  /** The reason, for people. */
  private noteFailure({ hook, plugin }: CompiledHook, event: HookEvents[HookEvent], error: unknown): string {
    const { name, on, failure = 'open' } = hook;
    const { workspaceId, jobId } = event;
    const isTimeout = error instanceof DOMException && error.name === 'TimeoutError';
    this.runs.inc({ hook: name, on, outcome: isTimeout ? 'timed_out' : 'failed' });
    this.host.logger.warn(
      { err: error, plugin: plugin.name, hook: name, on, failure, workspaceId, jobId },
      'a hook failed',
    );
    const text = error instanceof Error ? error.message : String(error);
    return this.host.redactor.of(workspaceId).redact(text).slice(0, MAX_REASON_LENGTH);
  }
}

export function hookRuns(metrics: Metrics) {
  const help = 'Runs of hooks, by hook, kind and outcome (unchanged, changed, failed, timed_out)';
  return metrics.counter('nightshift_hook_runs_total', help, ['hook', 'on', 'outcome']);
}

export function hookSeconds(metrics: Metrics) {
  return metrics.histogram('nightshift_hook_seconds', 'Duration of hook runs', {
    labelNames: ['hook', 'on'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
  });
}

/** The condition of a hook could not be evaluated. */
interface Failed {
  readonly error: unknown;
}

function matchOf({ matches }: CompiledHook, event: object): boolean | Failed {
  try {
    return matches(event);
  } catch (error) {
    return { error };
  }
}

function assertAnswered(isMatch: boolean | Failed): void {
  if (typeof isMatch === 'boolean') return;
  const text = isMatch.error instanceof Error ? (isMatch.error.message.split('\n')[0] ?? '') : '';
  throw new UnfitOutcome(`its match cannot be evaluated: ${text}`);
}

function compiled({ plugin, hook }: Registered): CompiledHook {
  const match = compileMatch(hook.on, hook.match);
  if (!match.ok) throw new TypeError(`hook "${hook.name}": ${match.problem}`); // refused when the plugin was loaded
  return { plugin, hook, ...match };
}

function priorityOf({ hook }: CompiledHook): number {
  return hook.priority ?? PRIORITY;
}

/** The members of an outcome that are stored as they are. Results, outputs and reasons are redacted where they are stored. */
const stored: ReadonlySet<string> = new Set(['answer', 'text', 'arguments', 'input', 'labels']);

function withoutSecrets<Outcome extends object>(outcome: Outcome, redact: (text: string) => string): Outcome {
  const entries = Object.entries(outcome as Readonly<Record<string, unknown>>).map(([name, value]) => [
    name,
    stored.has(name) ? redacted(value, redact) : value,
  ]);
  return Object.fromEntries(entries) as Outcome; // with the same members
}

/** JSON with each text redacted. */
function redacted(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item) => redacted(item, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, redacted(item, redact)]));
}

/** The members of an outcome that are reasons. */
const reasons = ['reason', 'deny', 'restart', 'requireApproval', 'error', 'skip', 'fail'] as const;

function reasonIn(outcome: object): string {
  const given = new Map<string, unknown>(Object.entries(outcome));
  return reasons.map((name) => given.get(name)).find((text) => typeof text === 'string') ?? '';
}
