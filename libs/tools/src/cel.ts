import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { LRUCache } from 'lru-cache';

import { boundOperations, countComparisons, countTextWork, isComparison } from './bounded-cel.js';
import { linearPattern, patternSize } from './linear-pattern.js';
import { runWithin } from './run-within.js';

/** The variables, functions and limits of an expression language. */
export interface CelLanguage {
  readonly environment: Environment;
  /** Functions in addition to those of every language. */
  readonly calls?: readonly string[];
  /** The plural noun for expressions of this language in a message. */
  readonly noun: string;
  /**
   * Stops a run after this many evaluated nodes, and after this much CPU time. Such a run counts by itself and does not need V8's timer,
   * which takes a thread per run, unless it works on long texts. Absent: a run stops after `LOOP_STOP_MS`.
   */
  readonly limits?: RunLimits;
  /**
   * Whether the names of types (`type`, `string`, `map` …) are variables too. `variableOfType` returns the names under which the caller
   * passes their values.
   */
  readonly typesAreVariables?: boolean;
}

export interface RunLimits {
  readonly steps: number;
  readonly cpuMs: number;
}

/** A compiled expression. `run` throws the errors of the evaluation, and stops a loop that takes too long. */
export type CelProgram =
  | {
      readonly ok: true;
      readonly type: string;
      readonly run: (values: Readonly<Record<string, unknown>>) => unknown;
    }
  | { readonly ok: false; readonly problem: string };

export const MAX_CEL_LENGTH = 2_000;
/** Wall-clock time after which a running loop is stopped, in ms. */
export const LOOP_STOP_MS = 50;
const maxKept = 1_000;
/** The type names that the language defines as constants. */
export const typeNames = [
  ...['string', 'bool', 'int', 'uint', 'double', 'map', 'list', 'bytes', 'null_type', 'type'],
] as const;

/** The name of the variable for a type. It begins with a space, so no name in an expression equals it. */
export function variableOfType(name: string): string {
  return ` ${name}`;
}

/** Macros that visit a list, possibly lists within lists. */
const LOOPS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);
/**
 * The allowed functions. They do not read a clock, do not make a large value from small ones (`bind`, `join`), and do not use backtracking
 * patterns (`matches`).
 */
const CALLS: ReadonlySet<string> = new Set([
  ...LOOPS,
  ...['has', 'size', 'startsWith', 'endsWith', 'contains', 'indexOf', 'lastIndexOf', 'substring', 'split'],
  ...['lowerAscii', 'upperAscii', 'trim', 'matchesRe2', 'int', 'uint', 'double', 'string', 'bool', 'dyn', 'type'],
]);

/** Functions whose time hardly depends on their operands: an expression that calls only these needs no time limit. */
const SHORT: ReadonlySet<string> = new Set([
  'has',
  'startsWith',
  'endsWith',
  'int',
  'uint',
  'double',
  'bool',
  'dyn',
  'type',
]);

/** Maximum total size of the patterns of an expression; see `patternSize`. The time to compile them does not count toward the time limit. */
const maxPatternsSize = 2_000;

const linear = cachedByText((pattern) => linearPattern(pattern, 're2'));

/**
 * Creates an environment with the limits and the linear patterns of this server, and without variables. `anyName`: unregistered names are
 * variables of any type, and a run without their values fails.
 */
export function celEnvironment({ anyName = false }: { readonly anyName?: boolean } = {}): Environment {
  return new Environment({
    unlistedVariablesAreDyn: anyName,
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: 500, maxDepth: 24, maxListElements: 100, maxMapEntries: 50, maxCallArguments: 8 },
  }).registerFunction('string.matchesRe2(string): bool', (text: string, pattern: string) => linear(pattern).test(text));
}

/**
 * Compiles an untrusted expression. `problem` completes "The expression …": it is too long, does not parse or type-check, calls a forbidden
 * function, or has patterns that are too large.
 */
export function compileCel(
  source: string,
  { environment, calls = [], noun, limits, typesAreVariables }: CelLanguage,
): CelProgram {
  if (source.length > MAX_CEL_LENGTH) return refused(`is longer than ${MAX_CEL_LENGTH} characters`);
  try {
    const program = environment.parse(source);
    if (typesAreVariables === true) renameTypes(program.ast);
    const called = callsOf(program.ast);
    if (sizeOfPatterns(called) > maxPatternsSize) return refused('has patterns in matchesRe2() that are too large');
    const problem = called.map((call) => problemOf(call, calls, noun)).find((found) => found !== null);
    if (problem !== undefined) return refused(problem);
    const { valid, type, error } = program.check();
    if (!valid) return refused(`is wrong: ${firstLine(error)}`);
    const nodes = allNodes(program.ast);
    boundOperations(nodes);
    const isLong =
      called.some(({ name }) => !SHORT.has(name)) || nodes.some((node) => node.op === '+' || isComparison(node));
    const run = (values: Readonly<Record<string, unknown>>): unknown => program(withoutPrototype(values));
    if (!isLong) return { ok: true, type: type ?? 'nothing', run }; // without loops, the limits of the environment suffice
    const bounded = limits === undefined ? stoppable(run) : counted(run, nodes, limits);
    return { ok: true, type: type ?? 'nothing', run: bounded };
  } catch (error) {
    return refused(`cannot be read: ${firstLine(error)}`);
  }
}

/**
 * The cost of compiling an expression, in UTF-16 code units, with the repetitions in its patterns expanded: 50,000 take up to 0.3 s. For
 * documents that contain many expressions. Linear in the length.
 */
export function celSize(source: string): number {
  return Math.max(source.length, patternSize(source));
}

export function isTooSlow(error: unknown): boolean {
  return (
    typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  );
}

/** Caches the values that `make` returns for texts. The least recently used ones are evicted first. */
export function cachedByText<T extends object>(make: (text: string) => T): (text: string) => T {
  const known = new LRUCache<string, T>({ max: maxKept });
  return (text) => {
    const value = known.get(text);
    if (value !== undefined) return value;
    const made = make(text);
    known.set(text, made);
    return made;
  };
}

export function firstLine(error: unknown): string {
  return (error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'unknown').slice(0, 200);
}

function refused(problem: string): CelProgram {
  return { ok: false, problem };
}

interface Call {
  readonly name: string;
  readonly args: readonly ASTNode[];
}

/** The copy has no prototype, so that `constructor` is not a variable. */
function withoutPrototype(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.getPrototypeOf(values) === null
    ? values
    : Object.assign(Object.create(null) as Record<string, unknown>, values);
}

/** The part of a node that the type declarations of cel-js omit. A spec of the triggers fails if it changes. */
interface StepNode {
  readonly meta: { readonly evaluate: (...parameters: readonly unknown[]) => unknown };
  setMeta(key: 'evaluate', evaluate: (...parameters: readonly unknown[]) => unknown): unknown;
}

/** Nodes between two reads of the clock, because reading the clock costs more than a step. */
const stepsBetweenLooks = 8;

/**
 * Most work on texts (`countTextWork`) without V8's timer. The run cannot be interrupted between two nodes, and a match of a pattern takes up to
 * 1 ms for 8,000.
 */
const maxTextWork = 50_000;

/** Makes every node of a checked expression count its evaluations, and check the time every few steps. */
function counted(
  run: (values: Readonly<Record<string, unknown>>) => unknown,
  nodes: readonly ASTNode[],
  { steps, cpuMs }: RunLimits,
): (values: Readonly<Record<string, unknown>>) => unknown {
  const tooMany = new Error(`takes more than ${steps} steps`);
  const tooSlow = new Error(`takes more than ${cpuMs} ms`);
  const isLong = new Error('works on long texts');
  let [left, textWork, isTimed] = [steps, 0, false];
  let began = { wall: 0, cpu: 0 };
  let reached: Error | null = null;
  const look = () => {
    // CPU time decides, so that a busy machine does not change a result. Wall-clock time is checked first, because it is cheaper to read.
    if (!isTimed && performance.now() - began.wall > cpuMs && cpuNow() - began.cpu > cpuMs) reached ??= tooSlow;
  };
  const failIfReached = () => {
    if (reached !== null) throw reached;
  };
  countComparisons(nodes, (members) => {
    left -= members;
    if (left < 0) reached ??= tooMany;
    look();
    failIfReached();
  });
  countTextWork(nodes, (work) => {
    textWork += work;
    if (!isTimed && textWork > maxTextWork) reached ??= isLong;
    failIfReached();
  });
  for (const node of nodes) {
    const step = node as unknown as StepNode;
    const { evaluate } = step.meta;
    step.setMeta('evaluate', (...parameters) => {
      if (--left < 0) reached ??= tooMany;
      else if (left % stepsBetweenLooks === 0) look();
      failIfReached();
      return evaluate(...parameters);
    });
  }
  const once = (values: Readonly<Record<string, unknown>>): unknown => {
    [left, textWork, reached] = [steps, 0, null];
    began = { wall: performance.now(), cpu: cpuNow() };
    try {
      return run(values);
    } finally {
      look();
      failIfReached(); // `||`, `all` and others discard the errors of their operands
    }
  };
  const timed = interruptible(once, cpuMs, (on) => (isTimed = on));
  return (values) => {
    try {
      return once(values);
    } catch (error) {
      if (reached === isLong) return timed(values);
      if (reached !== tooSlow) throw error;
      return once(values); // a garbage collection or a first run can make an expression slow, so it runs once more
    }
  };
}

/** Runs under the timer of V8, between two calls of `setTimed`. */
function interruptible(
  run: (values: Readonly<Record<string, unknown>>) => unknown,
  cpuMs: number,
  setTimed: (isTimed: boolean) => void,
): (values: Readonly<Record<string, unknown>>) => unknown {
  const timed = stoppable(run, cpuMs);
  return (values) => {
    setTimed(true);
    try {
      return timed(values);
    } catch (error) {
      throw isTooSlow(error) ? new Error(`takes more than ${cpuMs} ms`) : error;
    } finally {
      setTimed(false);
    }
  };
}

function cpuNow(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

function callsOf(root: ASTNode): readonly Call[] {
  return allNodes(root).flatMap((node) => {
    if (node.op === 'call') return [{ name: node.args[0], args: node.args[1] }];
    return node.op === 'rcall' ? [{ name: node.args[0], args: node.args[2] }] : [];
  });
}

/** Makes the names of types variables, except names that a loop declares. */
function renameTypes(root: ASTNode): void {
  const declared = new Set(callsOf(root).flatMap(({ name, args: [first] }) => (LOOPS.has(name) ? [first?.args] : [])));
  for (const node of allNodes(root)) {
    const name = node.op === 'id' ? typeNames.find((type) => type === node.args) : undefined;
    if (name !== undefined && !declared.has(name)) Object.assign(node, { args: variableOfType(name) });
  }
}

function allNodes(node: ASTNode): readonly ASTNode[] {
  return [node, ...nodesIn(node.args).flatMap(allNodes)];
}

function nodesIn(value: unknown): readonly ASTNode[] {
  if (Array.isArray(value)) return value.flatMap(nodesIn);
  // The other members of the tree are texts, numbers and byte arrays: only a node has `op`.
  return typeof value === 'object' && value !== null && 'op' in value ? [value as ASTNode] : [];
}

function sizeOfPatterns(called: readonly Call[]): number {
  const literals = called.flatMap(({ name, args: [pattern] }) => (name === 'matchesRe2' ? [pattern?.args] : []));
  return literals.reduce<number>((sum, text) => sum + (typeof text === 'string' ? patternSize(text) : 0), 0);
}

function problemOf({ name, args }: Call, extra: readonly string[], noun: string): string | null {
  if (name === 'matches') return 'uses matches(), which can take for ever: use matchesRe2()';
  if (!CALLS.has(name) && !extra.includes(name)) return `uses ${name.slice(0, 50)}(), which ${noun} do not have`;
  if (name !== 'matchesRe2') return null;
  const [pattern] = args;
  if (pattern?.op !== 'value' || typeof pattern.args !== 'string') return 'needs a literal pattern in matchesRe2()';
  try {
    linear(pattern.args);
    return null;
  } catch {
    return 'has a pattern in matchesRe2() that RE2 does not know';
  }
}

/**
 * Maximum attempts of one evaluation. An evaluation that timed out, but had less than half of that time on the CPU, was delayed by other work
 * and is repeated.
 */
const maxTries = 8;
/** Maximum attempts that did use the CPU: a garbage collection can slow down one attempt, but hardly two. */
const maxSlowTries = 2;

/** Stops a run from outside, because an expression cannot check the time itself. */
function stoppable(
  run: (values: Readonly<Record<string, unknown>>) => unknown,
  ms = LOOP_STOP_MS,
): (values: Readonly<Record<string, unknown>>) => unknown {
  return (values) => {
    for (let tries = 1, slow = 0; ; tries++) {
      const start = process.threadCpuUsage();
      try {
        return runWithin(ms, () => run(values));
      } catch (error) {
        const { user, system } = process.threadCpuUsage(start);
        if ((user + system) / 1_000 > ms / 2) slow++;
        if (!isTooSlow(error) || slow === maxSlowTries || tries === maxTries) throw error;
      }
    }
  };
}
