import { isDeepStrictEqual } from 'node:util';

import type { HookEvents, HookOutcomes } from '@nightshift/plugin';

import type { FilterEvent } from './hook-outcome.js';

/** A step is refused. `hook_failed`: the hook has no outcome, and its `failure` is `closed`. */
export interface Denied {
  readonly type: 'denied';
  readonly code: 'hook_denied' | 'hook_failed';
  readonly reason: string;
}

/** How hooks of each kind can end a step besides denying it. */
interface Ends {
  readonly beforeJobStart: never;
  readonly beforeModelCall: { readonly type: 'answered'; readonly text: string };
  readonly afterModelCall: { readonly type: 'restarted'; readonly reason: string };
  /** The call completes with this value. */
  readonly beforeToolCall: { readonly type: 'result'; readonly value: unknown };
  readonly afterToolCall: never;
  readonly beforeNode: { readonly type: 'skipped' | 'failed'; readonly reason: string };
  readonly afterNode: { readonly type: 'failed'; readonly reason: string };
}

/** How a hook has ended a step; later hooks do not run. */
export type HookEnd<On extends FilterEvent> = Denied | Ends[On];

/** An event after an outcome. */
export interface Folded<On extends FilterEvent> {
  readonly event: HookEvents[On];
  readonly end: HookEnd<On> | null;
  /** The members of the outcome that changed the event. */
  readonly what: readonly string[];
}

/** An outcome that its event does not allow; the message is a clause. */
export class UnfitOutcome extends Error {}

/** The event after an outcome. Throws `UnfitOutcome` for an outcome that would allow more than the event does, or names a tool or call that the event does not have. Pure. */
export function foldOutcome<On extends FilterEvent>(
  on: On,
  event: HookEvents[On],
  outcome: HookOutcomes[On],
): Folded<On> {
  return folds[on](event, outcome);
}

type Folds = { readonly [On in FilterEvent]: (event: HookEvents[On], outcome: HookOutcomes[On]) => Folded<On> };

const folds: Folds = {
  beforeJobStart: (event, outcome) => {
    if ('deny' in outcome) return denied(event, outcome.deny);
    const { input, labels } = outcome;
    return changed(event, { input, labels: labels && { ...event.labels, ...labels } });
  },
  beforeModelCall: (event, outcome) => {
    if ('deny' in outcome) return denied(event, outcome.deny);
    if ('answer' in outcome) return { event, end: { type: 'answered', text: outcome.answer }, what: ['answer'] };
    const { messages, tools, parameters } = outcome;
    const foreign = tools?.find(({ name }) => event.tools.every((tool) => tool.name !== name));
    if (foreign !== undefined) throw new UnfitOutcome(`it returned the tool "${foreign.name}", which is not offered`);
    return changed(event, { messages, tools, parameters: parameters && tightened(event.parameters, parameters) });
  },
  afterModelCall: (event, outcome) => {
    if ('restart' in outcome) return { event, end: { type: 'restarted', reason: outcome.restart }, what: ['restart'] };
    const { text, dropCalls = [] } = outcome;
    const unknown = dropCalls.find((id) => event.toolCalls.every(({ callId }) => callId !== id));
    if (unknown !== undefined) throw new UnfitOutcome(`it dropped the call "${unknown}", which does not exist`);
    const toolCalls = event.toolCalls.filter(({ callId }) => !dropCalls.includes(callId));
    const after = changed(event, { text, toolCalls });
    return { ...after, what: after.what.map((name) => (name === 'toolCalls' ? 'dropCalls' : name)) };
  },
  beforeToolCall: (event, outcome) => {
    if ('deny' in outcome) return denied(event, outcome.deny);
    if ('result' in outcome) return { event, end: { type: 'result', value: outcome.result }, what: ['result'] };
    const { arguments: args, requireApproval } = outcome;
    const after = changed(event, { arguments: args });
    if (requireApproval === undefined) return after;
    return {
      event: { ...after.event, approval: 'required' },
      end: null,
      what: [...after.what, 'requireApproval'],
    };
  },
  afterToolCall: (event, outcome) => {
    if ('error' in outcome)
      return { event: { ...event, result: null, error: outcome.error }, end: null, what: ['error'] };
    if (outcome.result === undefined) return { event, end: null, what: [] };
    const result = typeof outcome.result === 'string' ? outcome.result : JSON.stringify(outcome.result);
    if (result === event.result) return { event, end: null, what: [] };
    return { event: { ...event, result, error: null }, end: null, what: ['result'] };
  },
  beforeNode: (event, outcome) => {
    if ('skip' in outcome) return { event, end: { type: 'skipped', reason: outcome.skip }, what: ['skip'] };
    if ('fail' in outcome) return { event, end: { type: 'failed', reason: outcome.fail }, what: ['fail'] };
    return changed(event, { input: outcome.input });
  },
  afterNode: (event, outcome) => {
    if ('fail' in outcome) return { event, end: { type: 'failed', reason: outcome.fail }, what: ['fail'] };
    return changed(event, { output: outcome.output });
  },
};

function denied<Event>(event: Event, reason: string) {
  return { event, end: { type: 'denied', code: 'hook_denied', reason } as const, what: ['deny'] };
}

/** Replaces the fields that `given` contains with another value. */
function changed<Event extends object>(event: Event, given: Readonly<Partial<Record<keyof Event & string, unknown>>>) {
  const entries = Object.entries<unknown>(given).filter(
    ([name, value]) => value !== undefined && !isDeepStrictEqual(value, event[name as keyof Event]), // a key of `given`
  );
  if (entries.length === 0) return { event, end: null, what: [] };
  const after: Event = Object.assign({ ...event }, Object.fromEntries(entries)); // with the types that its schema has checked
  return { event: after, end: null, what: entries.map(([name]) => name) };
}

/** The parameters that limit the length of a response. A provider may read either, so the limit of one also limits the other. */
const limits = ['max_tokens', 'max_completion_tokens'] as const;

/** The new parameters with the limits of the old ones, unless the new ones have lower limits. */
function tightened(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const set = limits.flatMap((name) => (typeof before[name] === 'number' ? [[name, before[name]] as const] : []));
  const lowest = Math.min(...set.map(([, limit]) => limit));
  if (set.length === 0) return after;
  for (const name of limits) {
    const [given, old] = [after[name], before[name]];
    const limit = typeof old === 'number' ? old : lowest;
    if (given !== undefined && given !== old && (typeof given !== 'number' || given > limit))
      throw new UnfitOutcome(`it raised parameters.${name} above ${limit}`);
  }
  return { ...Object.fromEntries(set), ...after };
}
