import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { RE2JS } from 're2js';

import { runWithin } from '../run-within.js';

/** What a condition may look at. Everything in it is plain JSON. */
export interface ConditionContext {
  readonly tool: string;
  readonly arguments: unknown;
  readonly agent: string | null;
  readonly principal: { readonly id: string; readonly role: string | null; readonly userId: string | null };
}

/** What became of a condition: an answer, or why there is none. Both failures are the caller's to treat as "ask". */
export type ConditionAnswer = 'true' | 'false' | 'failed' | 'too_slow';

/** A condition that compiled. `cpuMs` is what the answer cost. */
export type Condition = (context: ConditionContext) => { readonly answer: ConditionAnswer; readonly cpuMs: number };

export type CompiledCondition =
  { readonly ok: true; readonly condition: Condition } | { readonly ok: false; readonly problem: string };

export const MAX_CONDITION_LENGTH = 2_000;
/** Longer than this, of the processor's time and not the clock's, and the answer does not count. */
const slowMs = 5;
/** A loop is stopped after this much of the clock's time, wherever it is. */
const loopStopMs = 50;
const mostCompiled = 1_000;

/** Walk a list, and so may walk lists within lists. */
const LOOPS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);
/** No clock, nothing that builds much out of little (`bind`, `join`), no backtracking patterns (`matches`). */
const CALLS: ReadonlySet<string> = new Set([
  ...LOOPS,
  ...['has', 'size', 'startsWith', 'endsWith', 'contains', 'indexOf', 'lastIndexOf', 'substring', 'split'],
  ...['lowerAscii', 'upperAscii', 'trim', 'matchesRe2', 'int', 'uint', 'double', 'string', 'bool', 'dyn', 'type'],
]);

const environment = new Environment({
  homogeneousAggregateLiterals: false,
  limits: { maxAstNodes: 500, maxDepth: 24, maxListElements: 100, maxMapEntries: 50, maxCallArguments: 8 },
})
  .registerVariable('tool', 'string')
  .registerVariable('arguments', 'map')
  .registerVariable('agent', 'dyn')
  .registerVariable('principal', 'map')
  .registerFunction('string.matchesRe2(string): bool', (text: string, pattern: string) => linear(pattern).test(text));

const patterns = new Map<string, RE2JS>();
const compiled = new Map<string, CompiledCondition>();

/**
 * Compiles a CEL expression over `tool`, `arguments`, `agent` and `principal`. Refused: what does not parse or type-check, is
 * not a bool, or calls anything but the functions above; `problem` says so in a clause. Compiled ones are kept by their text,
 * the least recently used go first.
 */
export function compileCondition(source: string): CompiledCondition {
  return remember(compiled, source, compile);
}

function compile(source: string): CompiledCondition {
  if (source.length > MAX_CONDITION_LENGTH) return refused(`is longer than ${MAX_CONDITION_LENGTH} characters`);
  try {
    const program = environment.parse(source);
    const calls = callsOf(program.ast);
    const problem = calls.map(problemOf).find((found) => found !== null);
    if (problem !== undefined) return refused(problem);
    const { valid, type, error } = program.check();
    if (!valid) return refused(`is wrong: ${firstLine(error)}`);
    if (type !== 'bool' && type !== 'dyn') return refused(`gives ${type ?? 'nothing'} where a bool is needed`);
    const isLong = calls.some(({ name }) => LOOPS.has(name) || name === 'matchesRe2');
    const run = (context: ConditionContext): unknown => program({ ...context });
    return { ok: true, condition: timed(isLong ? stoppable(run) : run) };
  } catch (error) {
    return refused(`cannot be read: ${firstLine(error)}`);
  }
}

function refused(problem: string): CompiledCondition {
  return { ok: false, problem };
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'unknown').slice(0, 200);
}

interface Call {
  readonly name: string;
  readonly args: readonly ASTNode[];
}

function callsOf(node: ASTNode): readonly Call[] {
  const below = nodesIn(node.args).flatMap(callsOf);
  if (node.op === 'call') return [{ name: node.args[0], args: node.args[1] }, ...below];
  if (node.op === 'rcall') return [{ name: node.args[0], args: node.args[2] }, ...below];
  return below;
}

function nodesIn(value: unknown): readonly ASTNode[] {
  if (Array.isArray(value)) return value.flatMap(nodesIn);
  // The tree's other members are texts, numbers and byte arrays: what carries an `op` is a node.
  return typeof value === 'object' && value !== null && 'op' in value ? [value as ASTNode] : [];
}

function problemOf({ name, args }: Call): string | null {
  if (name === 'matches') return 'uses matches(), which can take for ever: use matchesRe2()';
  if (!CALLS.has(name)) return `uses ${name.slice(0, 50)}(), which conditions do not have`;
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

function linear(pattern: string): RE2JS {
  return remember(patterns, pattern, (text) => RE2JS.compile(text));
}

/** A garbage collection or a first run is not the expression's fault: what was too slow once gets a second try. */
function timed(run: (context: ConditionContext) => unknown): Condition {
  const once = (context: ConditionContext): ReturnType<Condition> => {
    const start = process.threadCpuUsage();
    const answer = answerOf(run, context);
    const { user, system } = process.threadCpuUsage(start);
    const cpuMs = (user + system) / 1_000;
    return { answer: cpuMs > slowMs ? 'too_slow' : answer, cpuMs };
  };
  return (context) => {
    const first = once(context);
    return first.answer === 'too_slow' && first.cpuMs < loopStopMs / 2 ? once(context) : first;
  };
}

function answerOf(run: (context: ConditionContext) => unknown, context: ConditionContext): ConditionAnswer {
  try {
    const value = run(context);
    return value === true ? 'true' : value === false ? 'false' : 'failed';
  } catch (error) {
    return isTimeout(error) ? 'too_slow' : 'failed';
  }
}

function isTimeout(error: unknown): boolean {
  return (
    typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  );
}

/** Nothing in the expression language can be trusted to look at a clock. */
function stoppable(run: (context: ConditionContext) => unknown): (context: ConditionContext) => unknown {
  return (context) => runWithin(loopStopMs, () => run(context));
}

function remember<T>(known: Map<string, T>, key: string, make: (key: string) => T): T {
  const value = known.get(key) ?? make(key);
  known.delete(key);
  known.set(key, value);
  for (const oldest of known.keys()) {
    if (known.size <= mostCompiled) break;
    known.delete(oldest);
  }
  return value;
}
