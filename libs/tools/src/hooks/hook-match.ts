import type { HookEvent, HookEvents, HookMatch } from '@nightshift/plugin';

import { celEnvironment, compileCel } from '../cel.js';
import { matchesGlob } from '../matches-glob.js';

/** Whether a hook runs for an event. Throws if its condition cannot be evaluated. */
export type Matcher = (event: object) => boolean;

/** A compiled match, or, as a clause, why it did not compile. `mayMatch` takes some fields of an event; false: the hook matches no event with them. */
export type CompiledMatch =
  | { readonly ok: true; readonly matches: Matcher; readonly mayMatch: Matcher }
  | { readonly ok: false; readonly problem: string };

/** All fields of all events. The type fails to compile when an event has a field that is not listed here. */
type Fields = { readonly [On in HookEvent]: Readonly<Record<keyof HookEvents[On], true>> };

const job = { workspaceId: true, jobId: true, threadId: true, principal: true, userId: true } as const;
const base = { ...job, kind: true, agent: true, workflow: true, labels: true } as const;
const ofModel = { ...base, round: true, model: true } as const;
const ofCall = { ...base, callId: true, tool: true, arguments: true } as const;
const ofNode = { ...base, node: true } as const;

const fields: Fields = {
  beforeJobStart: { ...base, input: true },
  beforeModelCall: { ...ofModel, messages: true, tools: true, parameters: true },
  afterModelCall: { ...ofModel, text: true, toolCalls: true, usage: true },
  beforeToolCall: { ...ofCall, effect: true, approval: true },
  afterToolCall: { ...ofCall, result: true, error: true, durationMs: true },
  beforeNode: { ...ofNode, input: true },
  afterNode: { ...ofNode, output: true },
  onInterrupt: { ...base, interrupt: true },
  onJobFinished: { ...base, job: true },
  onNotification: { ...base, notification: true },
};

/** Whether a text names a kind of hook. */
export function isHookEvent(on: string): on is HookEvent {
  return Object.hasOwn(fields, on);
}

export const hookEvents: readonly string[] = Object.keys(fields);

/** The field of the events that the globs of each name match. */
const fieldOfGlobs = { tool: 'tool', agent: 'agent', workflow: 'workflow', workspace: 'workspaceId' } as const;
const MAX_GLOBS = 100;
const MAX_GLOB_LENGTH = 200;
const limits = { steps: 10_000, cpuMs: 5 };

/** Compiles the condition or the globs of a hook; absent: it runs for every event. */
export function compileMatch(on: HookEvent, match: string | HookMatch | undefined): CompiledMatch {
  if (match === undefined) return { ok: true, matches: always, mayMatch: always };
  if (typeof match === 'string') return compileCondition(on, match);
  if (typeof match !== 'object' || Array.isArray(match)) return wrong('must be a CEL condition or an object of globs');
  return compileGlobs(on, match);
}

const always: Matcher = () => true;

function compileCondition(on: HookEvent, source: string): CompiledMatch {
  const environment = Object.keys(fields[on]).reduce(
    (known, field) => known.registerVariable(field, 'dyn'),
    celEnvironment(),
  );
  const program = compileCel(source, { environment, noun: 'conditions of hooks', limits });
  if (!program.ok) return wrong(program.problem);
  const { type, run } = program;
  if (type !== 'bool' && type !== 'dyn') return wrong(`gives ${type} where a bool is needed`);
  const matches: Matcher = (event) => {
    const value = run({ ...event });
    if (typeof value !== 'boolean') throw new Error('match gives no bool');
    return value;
  };
  // CEL returns false for an event with missing fields only if these fields cannot change the result. Otherwise it throws.
  const mayMatch: Matcher = (known) => {
    try {
      return run({ ...known }) !== false;
    } catch {
      return true;
    }
  };
  return { ok: true, matches, mayMatch: early.test(source) ? mayMatch : always };
}

/** Fields that are known before the others. A condition without one of them decides nothing early. */
const early = /\b(?:workspaceId|jobId|threadId|principal|kind|agent|workflow|labels|round|model|tool|node)\b/;

function compileGlobs(on: HookEvent, match: HookMatch): CompiledMatch {
  const tests: { readonly field: string; readonly globs: readonly string[] }[] = [];
  for (const [name, given] of Object.entries(match)) {
    if (!Object.hasOwn(fieldOfGlobs, name)) return wrong(`has "${name}", which is not ${words(fieldOfGlobs)}`);
    if (given === undefined) continue;
    const field = fieldOfGlobs[name as keyof typeof fieldOfGlobs]; // checked above
    if (!Object.hasOwn(fields[on], field)) return wrong(`has globs of ${name}, and events of ${on} have none`);
    const globs: unknown[] = Array.isArray(given) ? given : [given];
    if (globs.length === 0 || globs.length > MAX_GLOBS) return wrong(`needs 1 to ${MAX_GLOBS} globs of ${name}`);
    if (!globs.every((glob) => typeof glob === 'string' && glob !== '' && glob.length <= MAX_GLOB_LENGTH))
      return wrong(`needs globs of 1 to ${MAX_GLOB_LENGTH} characters as ${name}`);
    tests.push({ field, globs: globs.filter((glob) => typeof glob === 'string') });
  }
  const matching =
    (ifAbsent: boolean): Matcher =>
    (event) =>
      tests.every(({ field, globs }) => {
        const value: unknown = (event as Readonly<Record<string, unknown>>)[field];
        if (value === undefined) return ifAbsent;
        return typeof value === 'string' && globs.some((glob) => glob === value || matchesGlob(glob, value));
      });
  return { ok: true, matches: matching(false), mayMatch: matching(true) };
}

function words(of: object): string {
  return Object.keys(of).join(', ');
}

function wrong(problem: string): CompiledMatch {
  return { ok: false, problem: `match ${problem}` };
}
